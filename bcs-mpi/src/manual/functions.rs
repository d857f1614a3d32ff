//! Where each function of the standard is.
//!
//! A function that is missing from the list does not exist here. Names without a type are methods
//! of [`Comm`](crate::mpi::Comm) and [`Communicator`](crate::Communicator). `MPI_Comm_free`,
//! `MPI_Type_free` and the like are what dropping the last handle does, also where a function of
//! that name is listed. In the safe layer `MPI_IN_PLACE` is a call of its own, counts are the
//! lengths of slices, and datatypes are the types of their elements
//! ([`Equivalence`](crate::Equivalence)).
//!
//! ## Messages (chapter 3)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Bsend` | [`bsend`](crate::mpi::Comm::bsend) | [`bsend`](crate::Communicator::bsend) |
//! | `MPI_Ibsend` | [`ibsend`](crate::mpi::Comm::ibsend) | - |
//! | `MPI_Bsend_init` | [`bsend_init`](crate::mpi::Comm::bsend_init) | [`bsend_init`](crate::Communicator::bsend_init) |
//! | `MPI_Buffer_attach` | [`Process::attach_buffer`](crate::mpi::Process::attach_buffer) | [`Universe::attach_buffer`](crate::Universe::attach_buffer) |
//! | `MPI_Buffer_detach` | [`Process::detach_buffer`](crate::mpi::Process::detach_buffer) | [`Universe::detach_buffer`](crate::Universe::detach_buffer) |
//! | `MPI_Buffer_flush` | [`Process::flush_buffer`](crate::mpi::Process::flush_buffer) | - |
//! | `MPI_Buffer_iflush` | [`AttachedBuffer::iflush`](crate::mpi::AttachedBuffer::iflush) | - |
//! | `MPI_Comm_attach_buffer` | [`buffer`](crate::mpi::Comm::buffer), [`AttachedBuffer::attach`](crate::mpi::AttachedBuffer::attach) | - |
//! | `MPI_Cancel` | [`Request::cancel`](crate::mpi::Request::cancel) | [`OwnedRequest::cancel`](crate::OwnedRequest::cancel), [`ReceiveRequest::cancel`](crate::ReceiveRequest::cancel) |
//! | `MPI_Get_count` | [`Status::count`](crate::mpi::Status::count) | [`Status::count`](crate::Status::count) |
//! | `MPI_Grequest_complete` | [`GeneralizedCompletion::complete`](crate::mpi::generalized_request::GeneralizedCompletion::complete) | - |
//! | `MPI_Grequest_start` | [`Process::external`](crate::mpi::Process::external) | - |
//! | `MPI_Mprobe` | [`mprobe`](crate::mpi::Comm::mprobe) | [`mprobe`](crate::Communicator::mprobe) |
//! | `MPI_Improbe` | [`improbe`](crate::mpi::Comm::improbe) | [`improbe`](crate::Communicator::improbe) |
//! | `MPI_Mrecv` | [`Message::recv`](crate::mpi::Message::recv) | [`Message::recv`](crate::Message::recv), [`Message::recv_vec`](crate::Message::recv_vec), [`recv_vec`](crate::Communicator::recv_vec) |
//! | `MPI_Imrecv` | [`Message::irecv`](crate::mpi::Message::irecv) | - |
//! | `MPI_Parrived` | [`PartitionedMessage::arrived`](crate::mpi::PartitionedMessage::arrived) | - |
//! | `MPI_Pready` | [`PartitionedMessage::ready`](crate::mpi::PartitionedMessage::ready) | - |
//! | `MPI_Pready_list` | [`PartitionedMessage::ready`](crate::mpi::PartitionedMessage::ready) | - |
//! | `MPI_Pready_range` | [`PartitionedMessage::ready`](crate::mpi::PartitionedMessage::ready) | - |
//! | `MPI_Precv_init` | [`precv_init`](crate::mpi::Comm::precv_init) | - |
//! | `MPI_Probe` | [`probe`](crate::mpi::Comm::probe) | [`probe`](crate::Communicator::probe) |
//! | `MPI_Iprobe` | [`iprobe`](crate::mpi::Comm::iprobe) | [`iprobe`](crate::Communicator::iprobe) |
//! | `MPI_Psend_init` | [`psend_init`](crate::mpi::Comm::psend_init) | - |
//! | `MPI_Recv` | [`recv`](crate::mpi::Comm::recv) | [`recv`](crate::Communicator::recv), [`recv_one`](crate::Communicator::recv_one), [`recv_view`](crate::Communicator::recv_view) |
//! | `MPI_Irecv` | [`irecv`](crate::mpi::Comm::irecv) | [`irecv_owned`](crate::Communicator::irecv_owned), [`irecv`](crate::Communicator::irecv), [`irecv_view`](crate::Communicator::irecv_view) |
//! | `MPI_Recv_init` | [`recv_init`](crate::mpi::Comm::recv_init) | [`recv_init`](crate::Communicator::recv_init) |
//! | `MPI_Isendrecv` | [`isendrecv`](crate::mpi::Comm::isendrecv) | - |
//! | `MPI_Isendrecv_replace` | [`isendrecv_replace`](crate::mpi::Comm::isendrecv_replace) | - |
//! | `MPI_Request_free` | drop of a request, if [`Persistent::may_be_freed`](crate::mpi::Persistent::may_be_freed) | drop of a request |
//! | `MPI_Request_get_status` | [`Request::peek`](crate::mpi::Request::peek) | - |
//! | `MPI_Rsend` | [`rsend`](crate::mpi::Comm::rsend) | [`rsend`](crate::Communicator::rsend) |
//! | `MPI_Irsend` | [`irsend`](crate::mpi::Comm::irsend) | [`irsend`](crate::Communicator::irsend) |
//! | `MPI_Rsend_init` | [`rsend_init`](crate::mpi::Comm::rsend_init) | [`rsend_init`](crate::Communicator::rsend_init) |
//! | `MPI_Send` | [`send`](crate::mpi::Comm::send) | [`send`](crate::Communicator::send), [`send_one`](crate::Communicator::send_one), [`send_view`](crate::Communicator::send_view) |
//! | `MPI_Isend` | [`isend`](crate::mpi::Comm::isend) | [`isend_owned`](crate::Communicator::isend_owned), [`isend`](crate::Communicator::isend), [`isend_view`](crate::Communicator::isend_view) |
//! | `MPI_Send_init` | [`send_init`](crate::mpi::Comm::send_init) | [`send_init`](crate::Communicator::send_init) |
//! | `MPI_Sendrecv` | [`sendrecv`](crate::mpi::Comm::sendrecv) | [`sendrecv`](crate::Communicator::sendrecv), [`sendrecv_view`](crate::Communicator::sendrecv_view) |
//! | `MPI_Sendrecv_replace` | [`sendrecv_replace`](crate::mpi::Comm::sendrecv_replace) | [`sendrecv_replace`](crate::Communicator::sendrecv_replace) |
//! | `MPI_Ssend` | [`ssend`](crate::mpi::Comm::ssend) | [`ssend`](crate::Communicator::ssend) |
//! | `MPI_Issend` | [`issend`](crate::mpi::Comm::issend) | [`issend`](crate::Communicator::issend) |
//! | `MPI_Ssend_init` | [`ssend_init`](crate::mpi::Comm::ssend_init) | [`ssend_init`](crate::Communicator::ssend_init) |
//! | `MPI_Start` | [`Persistent::start`](crate::mpi::Persistent::start) | `start` of what can be started |
//! | `MPI_Startall` | [`startall`](crate::mpi::persistent::startall) | - |
//! | `MPI_Test` | [`Request::test`](crate::mpi::Request::test) | `test` of each request |
//! | `MPI_Testall` | [`testall`](crate::mpi::request::testall) | [`test_all`](crate::test_all) |
//! | `MPI_Testany` | [`testany`](crate::mpi::request::testany) | [`test_any`](crate::test_any) |
//! | `MPI_Testsome` | [`testsome`](crate::mpi::request::testsome) | [`test_some`](crate::test_some) |
//! | `MPI_Wait` | [`Request::wait`](crate::mpi::Request::wait) | `wait` of each request |
//! | `MPI_Waitall` | [`waitall`](crate::mpi::request::waitall) | [`wait_all`](crate::wait_all) |
//! | `MPI_Waitany` | [`waitany`](crate::mpi::request::waitany) | [`wait_any`](crate::wait_any), [`OwnedRequest::wait_any`](crate::OwnedRequest::wait_any) |
//! | `MPI_Waitsome` | [`waitsome`](crate::mpi::request::waitsome) | [`wait_some`](crate::wait_some) |
//!
//! ## Datatypes (chapter 5)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Get_elements` | [`Status::elements`](crate::mpi::Status::elements) | - |
//! | `MPI_Pack` | [`pack`](crate::mpi::Comm::pack) | - |
//! | `MPI_Pack_external` | [`Buffer::pack_external`](crate::mpi::Buffer::pack_external) | - |
//! | `MPI_Pack_external_size` | [`Datatype::pack_external_size`](crate::mpi::Datatype::pack_external_size) | - |
//! | `MPI_Pack_size` | [`pack_size`](crate::mpi::Comm::pack_size) | - |
//! | `MPI_Type_commit` | [`Datatype::commit`](crate::mpi::Datatype::commit) | - |
//! | `MPI_Type_contiguous` | [`Datatype::contiguous`](crate::mpi::Datatype::contiguous) | - |
//! | `MPI_Type_create_darray` | [`Datatype::darray`](crate::mpi::Datatype::darray) | - |
//! | `MPI_Type_create_hindexed` | [`Datatype::hindexed`](crate::mpi::Datatype::hindexed) | - |
//! | `MPI_Type_create_hindexed_block` | [`Datatype::hindexed_block`](crate::mpi::Datatype::hindexed_block) | - |
//! | `MPI_Type_create_hvector` | [`Datatype::hvector`](crate::mpi::Datatype::hvector) | - |
//! | `MPI_Type_create_indexed_block` | [`Datatype::indexed_block`](crate::mpi::Datatype::indexed_block) | - |
//! | `MPI_Type_create_resized` | [`Datatype::resized`](crate::mpi::Datatype::resized) | - |
//! | `MPI_Type_create_struct` | [`Datatype::structure`](crate::mpi::Datatype::structure) | [`Equivalence`](derive@crate::Equivalence) |
//! | `MPI_Type_create_subarray` | [`Datatype::subarray`](crate::mpi::Datatype::subarray) | [`Section::subarray`](crate::Section::subarray) |
//! | `MPI_Type_dup` | [`Datatype::dup`](crate::mpi::Datatype::dup) | - |
//! | `MPI_Type_free` | [`Datatype::free`](crate::mpi::Datatype::free) | - |
//! | `MPI_Type_get_contents` | [`Datatype::contents`](crate::mpi::Datatype::contents) | - |
//! | `MPI_Type_get_envelope` | [`Datatype::envelope`](crate::mpi::Datatype::envelope) | - |
//! | `MPI_Type_get_extent` | [`Datatype::extent`](crate::mpi::Datatype::extent) | - |
//! | `MPI_Type_get_name` | [`Datatype::name`](crate::mpi::Datatype::name) | - |
//! | `MPI_Type_get_true_extent` | [`Datatype::true_extent`](crate::mpi::Datatype::true_extent) | - |
//! | `MPI_Type_indexed` | [`Datatype::indexed`](crate::mpi::Datatype::indexed) | - |
//! | `MPI_Type_set_name` | [`Datatype::set_name`](crate::mpi::Datatype::set_name) | - |
//! | `MPI_Type_size` | [`Datatype::size`](crate::mpi::Datatype::size) | - |
//! | `MPI_Type_vector` | [`Datatype::vector`](crate::mpi::Datatype::vector) | [`Section::strided`](crate::Section::strided) |
//! | `MPI_Unpack` | [`unpack`](crate::mpi::Comm::unpack) | - |
//! | `MPI_Unpack_external` | [`Buffer::unpack_external`](crate::mpi::Buffer::unpack_external) | - |
//!
//! ## Collectives (chapter 6)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Allgather` | [`allgather`](crate::mpi::Comm::allgather) | [`allgather`](crate::Communicator::allgather), [`allgather_in_place`](crate::Communicator::allgather_in_place), [`allgather_one`](crate::Communicator::allgather_one) |
//! | `MPI_Iallgather` | [`iallgather`](crate::mpi::Comm::iallgather) | [`iallgather`](crate::Communicator::iallgather), [`iallgather_in_place`](crate::Communicator::iallgather_in_place) |
//! | `MPI_Allgather_init` | [`allgather_init`](crate::mpi::Comm::allgather_init) | [`allgather_init`](crate::Communicator::allgather_init) |
//! | `MPI_Allgatherv` | [`allgatherv`](crate::mpi::Comm::allgatherv) | [`allgatherv`](crate::Communicator::allgatherv), [`allgatherv_in_place`](crate::Communicator::allgatherv_in_place) |
//! | `MPI_Iallgatherv` | [`iallgatherv`](crate::mpi::Comm::iallgatherv) | [`iallgatherv`](crate::Communicator::iallgatherv), [`iallgatherv_in_place`](crate::Communicator::iallgatherv_in_place) |
//! | `MPI_Allgatherv_init` | [`allgatherv_init`](crate::mpi::Comm::allgatherv_init) | [`allgatherv_init`](crate::Communicator::allgatherv_init) |
//! | `MPI_Allreduce` | [`allreduce`](crate::mpi::Comm::allreduce) | [`allreduce`](crate::Communicator::allreduce), [`allreduce_in_place`](crate::Communicator::allreduce_in_place), [`allreduce_one`](crate::Communicator::allreduce_one) |
//! | `MPI_Iallreduce` | [`iallreduce`](crate::mpi::Comm::iallreduce) | [`iallreduce`](crate::Communicator::iallreduce), [`iallreduce_in_place`](crate::Communicator::iallreduce_in_place) |
//! | `MPI_Allreduce_init` | [`allreduce_init`](crate::mpi::Comm::allreduce_init) | [`allreduce_init`](crate::Communicator::allreduce_init) |
//! | `MPI_Alltoall` | [`alltoall`](crate::mpi::Comm::alltoall) | [`alltoall`](crate::Communicator::alltoall), [`alltoall_in_place`](crate::Communicator::alltoall_in_place), [`alltoall_one`](crate::Communicator::alltoall_one) |
//! | `MPI_Ialltoall` | [`ialltoall`](crate::mpi::Comm::ialltoall) | [`ialltoall`](crate::Communicator::ialltoall), [`ialltoall_in_place`](crate::Communicator::ialltoall_in_place) |
//! | `MPI_Alltoall_init` | [`alltoall_init`](crate::mpi::Comm::alltoall_init) | [`alltoall_init`](crate::Communicator::alltoall_init) |
//! | `MPI_Alltoallv` | [`alltoallv`](crate::mpi::Comm::alltoallv) | [`alltoallv`](crate::Communicator::alltoallv), [`alltoallv_in_place`](crate::Communicator::alltoallv_in_place) |
//! | `MPI_Ialltoallv` | [`ialltoallv`](crate::mpi::Comm::ialltoallv) | [`ialltoallv`](crate::Communicator::ialltoallv), [`ialltoallv_in_place`](crate::Communicator::ialltoallv_in_place) |
//! | `MPI_Alltoallv_init` | [`alltoallv_init`](crate::mpi::Comm::alltoallv_init) | [`alltoallv_init`](crate::Communicator::alltoallv_init) |
//! | `MPI_Alltoallw` | [`Blocks::of_types`](crate::mpi::Blocks::of_types), [`alltoallw`](crate::mpi::Comm::alltoallw) | - |
//! | `MPI_Ialltoallw` | [`ialltoallw`](crate::mpi::Comm::ialltoallw) | - |
//! | `MPI_Alltoallw_init` | [`alltoallw_init`](crate::mpi::Comm::alltoallw_init) | - |
//! | `MPI_Barrier` | [`barrier`](crate::mpi::Comm::barrier) | [`barrier`](crate::Communicator::barrier) |
//! | `MPI_Ibarrier` | [`ibarrier`](crate::mpi::Comm::ibarrier) | [`ibarrier`](crate::Communicator::ibarrier) |
//! | `MPI_Barrier_init` | [`barrier_init`](crate::mpi::Comm::barrier_init) | [`barrier_init`](crate::Communicator::barrier_init) |
//! | `MPI_Bcast` | [`bcast`](crate::mpi::Comm::bcast) | [`bcast`](crate::Communicator::bcast), [`bcast_one`](crate::Communicator::bcast_one) |
//! | `MPI_Ibcast` | [`ibcast`](crate::mpi::Comm::ibcast) | [`ibcast`](crate::Communicator::ibcast) |
//! | `MPI_Bcast_init` | [`bcast_init`](crate::mpi::Comm::bcast_init) | [`bcast_init`](crate::Communicator::bcast_init) |
//! | `MPI_Exscan` | [`exscan`](crate::mpi::Comm::exscan) | [`exscan`](crate::Communicator::exscan), [`exscan_in_place`](crate::Communicator::exscan_in_place), [`exscan_one`](crate::Communicator::exscan_one) |
//! | `MPI_Iexscan` | [`iexscan`](crate::mpi::Comm::iexscan) | [`iexscan`](crate::Communicator::iexscan), [`iexscan_in_place`](crate::Communicator::iexscan_in_place) |
//! | `MPI_Exscan_init` | [`exscan_init`](crate::mpi::Comm::exscan_init) | [`exscan_init`](crate::Communicator::exscan_init) |
//! | `MPI_Gather` | [`gather`](crate::mpi::Comm::gather) | [`gather`](crate::Communicator::gather), [`gather_in_place`](crate::Communicator::gather_in_place), [`gather_one`](crate::Communicator::gather_one) |
//! | `MPI_Igather` | [`igather`](crate::mpi::Comm::igather) | [`igather`](crate::Communicator::igather), [`igather_in_place`](crate::Communicator::igather_in_place) |
//! | `MPI_Gather_init` | [`gather_init`](crate::mpi::Comm::gather_init) | [`gather_init`](crate::Communicator::gather_init) |
//! | `MPI_Gatherv` | [`gatherv`](crate::mpi::Comm::gatherv) | [`gatherv`](crate::Communicator::gatherv), [`gatherv_in_place`](crate::Communicator::gatherv_in_place) |
//! | `MPI_Igatherv` | [`igatherv`](crate::mpi::Comm::igatherv) | [`igatherv`](crate::Communicator::igatherv), [`igatherv_in_place`](crate::Communicator::igatherv_in_place) |
//! | `MPI_Gatherv_init` | [`gatherv_init`](crate::mpi::Comm::gatherv_init) | [`gatherv_init`](crate::Communicator::gatherv_init) |
//! | `MPI_Op_commutative` | [`AnyOp::commutative`](crate::mpi::AnyOp::commutative) | - |
//! | `MPI_Op_create` | [`UserOp::create`](crate::mpi::UserOp::create) | [`UserOp::new`](crate::UserOp::new), [`UserOp::commutative`](crate::UserOp::commutative) |
//! | `MPI_Op_free` | [`AnyOp::free`](crate::mpi::AnyOp::free) | - |
//! | `MPI_Reduce` | [`reduce`](crate::mpi::Comm::reduce) | [`reduce`](crate::Communicator::reduce), [`reduce_in_place`](crate::Communicator::reduce_in_place), [`reduce_one`](crate::Communicator::reduce_one) |
//! | `MPI_Ireduce` | [`ireduce`](crate::mpi::Comm::ireduce) | [`ireduce`](crate::Communicator::ireduce), [`ireduce_in_place`](crate::Communicator::ireduce_in_place) |
//! | `MPI_Reduce_init` | [`reduce_init`](crate::mpi::Comm::reduce_init) | [`reduce_init`](crate::Communicator::reduce_init) |
//! | `MPI_Reduce_local` | [`reduce_local`](crate::mpi::reduce_local) | [`reduce_local`](crate::reduce_local) |
//! | `MPI_Reduce_scatter` | [`reduce_scatter`](crate::mpi::Comm::reduce_scatter) | [`reduce_scatter`](crate::Communicator::reduce_scatter), [`reduce_scatter_in_place`](crate::Communicator::reduce_scatter_in_place) |
//! | `MPI_Ireduce_scatter` | [`ireduce_scatter`](crate::mpi::Comm::ireduce_scatter) | [`ireduce_scatter`](crate::Communicator::ireduce_scatter), [`ireduce_scatter_in_place`](crate::Communicator::ireduce_scatter_in_place) |
//! | `MPI_Reduce_scatter_block` | [`reduce_scatter_block`](crate::mpi::Comm::reduce_scatter_block) | [`reduce_scatter_block`](crate::Communicator::reduce_scatter_block), [`reduce_scatter_block_in_place`](crate::Communicator::reduce_scatter_block_in_place) |
//! | `MPI_Ireduce_scatter_block` | [`ireduce_scatter_block`](crate::mpi::Comm::ireduce_scatter_block) | [`ireduce_scatter_block`](crate::Communicator::ireduce_scatter_block), [`ireduce_scatter_block_in_place`](crate::Communicator::ireduce_scatter_block_in_place) |
//! | `MPI_Reduce_scatter_block_init` | [`reduce_scatter_block_init`](crate::mpi::Comm::reduce_scatter_block_init) | [`reduce_scatter_block_init`](crate::Communicator::reduce_scatter_block_init) |
//! | `MPI_Reduce_scatter_init` | [`reduce_scatter_init`](crate::mpi::Comm::reduce_scatter_init) | [`reduce_scatter_init`](crate::Communicator::reduce_scatter_init) |
//! | `MPI_Scan` | [`scan`](crate::mpi::Comm::scan) | [`scan`](crate::Communicator::scan), [`scan_in_place`](crate::Communicator::scan_in_place), [`scan_one`](crate::Communicator::scan_one) |
//! | `MPI_Iscan` | [`iscan`](crate::mpi::Comm::iscan) | [`iscan`](crate::Communicator::iscan), [`iscan_in_place`](crate::Communicator::iscan_in_place) |
//! | `MPI_Scan_init` | [`scan_init`](crate::mpi::Comm::scan_init) | [`scan_init`](crate::Communicator::scan_init) |
//! | `MPI_Scatter` | [`scatter`](crate::mpi::Comm::scatter) | [`scatter`](crate::Communicator::scatter), [`scatter_in_place`](crate::Communicator::scatter_in_place), [`scatter_one`](crate::Communicator::scatter_one) |
//! | `MPI_Iscatter` | [`iscatter`](crate::mpi::Comm::iscatter) | [`iscatter`](crate::Communicator::iscatter), [`iscatter_in_place`](crate::Communicator::iscatter_in_place) |
//! | `MPI_Scatter_init` | [`scatter_init`](crate::mpi::Comm::scatter_init) | [`scatter_init`](crate::Communicator::scatter_init) |
//! | `MPI_Scatterv` | [`scatterv`](crate::mpi::Comm::scatterv) | [`scatterv`](crate::Communicator::scatterv), [`scatterv_in_place`](crate::Communicator::scatterv_in_place) |
//! | `MPI_Iscatterv` | [`iscatterv`](crate::mpi::Comm::iscatterv) | [`iscatterv`](crate::Communicator::iscatterv), [`iscatterv_in_place`](crate::Communicator::iscatterv_in_place) |
//! | `MPI_Scatterv_init` | [`scatterv_init`](crate::mpi::Comm::scatterv_init) | [`scatterv_init`](crate::Communicator::scatterv_init) |
//!
//! ## Groups and communicators (chapter 7)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Comm_compare` | [`compare`](crate::mpi::Comm::compare) | - |
//! | `MPI_Comm_create` | [`create`](crate::mpi::Comm::create) | [`create`](crate::Communicator::create) |
//! | `MPI_Comm_create_from_group` | [`Process::create_from_group`](crate::mpi::Process::create_from_group) | - |
//! | `MPI_Comm_create_group` | [`create_group`](crate::mpi::Comm::create_group) | [`create_group`](crate::Communicator::create_group) |
//! | `MPI_Comm_create_keyval` | [`Keyval::create`](crate::mpi::Keyval::create) | - |
//! | `MPI_Comm_delete_attr` | [`delete_attr`](crate::mpi::Comm::delete_attr) | - |
//! | `MPI_Comm_dup` | [`dup`](crate::mpi::Comm::dup) | [`dup`](crate::Communicator::dup) |
//! | `MPI_Comm_dup_with_info` | [`dup_with_info`](crate::mpi::Comm::dup_with_info) | - |
//! | `MPI_Comm_idup` | [`idup`](crate::mpi::Comm::idup) | - |
//! | `MPI_Comm_idup_with_info` | [`idup_with_info`](crate::mpi::Comm::idup_with_info) | - |
//! | `MPI_Comm_free` | [`free`](crate::mpi::Comm::free) | - |
//! | `MPI_Comm_free_keyval` | [`Keyval::free`](crate::mpi::Keyval::free) | - |
//! | `MPI_Comm_get_attr` | [`attr`](crate::mpi::Comm::attr) | - |
//! | `MPI_Comm_get_info` | [`info`](crate::mpi::Comm::info) | - |
//! | `MPI_Comm_get_name` | [`name`](crate::mpi::Comm::name) | [`name`](crate::Communicator::name) |
//! | `MPI_Comm_group` | [`group`](crate::mpi::Comm::group) | [`group`](crate::Communicator::group) |
//! | `MPI_Comm_rank` | [`rank`](crate::mpi::Comm::rank) | [`rank`](crate::Communicator::rank) |
//! | `MPI_Comm_set_attr` | [`set_attr`](crate::mpi::Comm::set_attr) | - |
//! | `MPI_Comm_set_info` | [`set_info`](crate::mpi::Comm::set_info) | - |
//! | `MPI_Comm_set_name` | [`set_name`](crate::mpi::Comm::set_name) | [`set_name`](crate::Communicator::set_name) |
//! | `MPI_Comm_size` | [`size`](crate::mpi::Comm::size) | [`size`](crate::Communicator::size) |
//! | `MPI_Comm_split` | [`split`](crate::mpi::Comm::split) | [`split`](crate::Communicator::split) |
//! | `MPI_Comm_split_type` | [`split_by_node`](crate::mpi::Comm::split_by_node) | [`split_by_node`](crate::Communicator::split_by_node) |
//! | `MPI_Group_compare` | [`Group::compare`](crate::mpi::Group::compare) | - |
//! | `MPI_Group_difference` | [`Group::difference`](crate::mpi::Group::difference) | - |
//! | `MPI_Group_excl` | [`Group::exclude`](crate::mpi::Group::exclude) | - |
//! | `MPI_Group_incl` | [`Group::include`](crate::mpi::Group::include) | - |
//! | `MPI_Group_intersection` | [`Group::intersection`](crate::mpi::Group::intersection) | - |
//! | `MPI_Group_range_excl` | [`Group::exclude_ranges`](crate::mpi::Group::exclude_ranges) | - |
//! | `MPI_Group_range_incl` | [`Group::include_ranges`](crate::mpi::Group::include_ranges) | - |
//! | `MPI_Group_rank` | [`Group::rank`](crate::mpi::Group::rank) | - |
//! | `MPI_Group_size` | [`Group::size`](crate::mpi::Group::size) | - |
//! | `MPI_Group_translate_ranks` | [`Group::translate`](crate::mpi::Group::translate) | - |
//! | `MPI_Group_union` | [`Group::union`](crate::mpi::Group::union) | - |
//! | `MPI_Comm_remote_group` | [`remote_group`](crate::mpi::Comm::remote_group) | [`Intercommunicator::remote_group`](crate::Intercommunicator::remote_group) |
//! | `MPI_Comm_remote_size` | [`remote_size`](crate::mpi::Comm::remote_size) | [`Intercommunicator::remote_size`](crate::Intercommunicator::remote_size) |
//! | `MPI_Comm_test_inter` | [`is_inter`](crate::mpi::Comm::is_inter) | its type |
//! | `MPI_Intercomm_create` | [`intercomm_create`](crate::mpi::Comm::intercomm_create) | [`intercomm_create`](crate::Communicator::intercomm_create) |
//! | `MPI_Intercomm_create_from_groups` | [`Process::intercomm_create_from_groups`](crate::mpi::Process::intercomm_create_from_groups) | - |
//! | `MPI_Intercomm_merge` | [`intercomm_merge`](crate::mpi::Comm::intercomm_merge) | [`Intercommunicator::merge`](crate::Intercommunicator::merge) |
//!
//! ## Topologies (chapter 8)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Cart_coords` | [`cart_coords`](crate::mpi::Comm::cart_coords) | [`cart_coords`](crate::Communicator::cart_coords) |
//! | `MPI_Cart_create` | [`cart_create`](crate::mpi::Comm::cart_create) | [`cart_create`](crate::Communicator::cart_create) |
//! | `MPI_Cart_get` | [`cartesian`](crate::mpi::Comm::cartesian) | - |
//! | `MPI_Cart_map` | [`cart_map`](crate::mpi::Comm::cart_map) | - |
//! | `MPI_Cart_rank` | [`cart_rank`](crate::mpi::Comm::cart_rank) | [`cart_rank`](crate::Communicator::cart_rank) |
//! | `MPI_Cart_shift` | [`cart_shift`](crate::mpi::Comm::cart_shift) | [`cart_shift`](crate::Communicator::cart_shift), [`shift_view`](crate::Communicator::shift_view) |
//! | `MPI_Cart_sub` | [`cart_sub`](crate::mpi::Comm::cart_sub) | [`cart_sub`](crate::Communicator::cart_sub) |
//! | `MPI_Cartdim_get` | [`cartesian`](crate::mpi::Comm::cartesian) | - |
//! | `MPI_Dims_create` | [`dims_create`](crate::mpi::topology::dims_create) | [`dims_create`](crate::dims_create) |
//! | `MPI_Dist_graph_create` | [`dist_graph_create`](crate::mpi::Comm::dist_graph_create) | - |
//! | `MPI_Dist_graph_create_adjacent` | [`dist_graph_create_adjacent`](crate::mpi::Comm::dist_graph_create_adjacent) | [`dist_graph_create_adjacent`](crate::Communicator::dist_graph_create_adjacent) |
//! | `MPI_Dist_graph_neighbors` | [`dist_graph_neighbors`](crate::mpi::Comm::dist_graph_neighbors) | [`neighbors`](crate::Communicator::neighbors) |
//! | `MPI_Dist_graph_neighbors_count` | [`dist_graph_neighbors`](crate::mpi::Comm::dist_graph_neighbors) | - |
//! | `MPI_Graph_create` | [`graph_create`](crate::mpi::Comm::graph_create) | - |
//! | `MPI_Graph_get` | [`Graph::index`](crate::mpi::topology::Graph::index), [`Graph::edges`](crate::mpi::topology::Graph::edges), [`graph`](crate::mpi::Comm::graph) | - |
//! | `MPI_Graph_map` | [`graph_map`](crate::mpi::Comm::graph_map) | - |
//! | `MPI_Graph_neighbors` | [`graph_neighbors`](crate::mpi::Comm::graph_neighbors) | - |
//! | `MPI_Graph_neighbors_count` | [`graph_neighbors`](crate::mpi::Comm::graph_neighbors) | - |
//! | `MPI_Graphdims_get` | [`Graph::nodes`](crate::mpi::topology::Graph::nodes), [`graph`](crate::mpi::Comm::graph) | - |
//! | `MPI_Neighbor_allgather` | [`neighbor_allgather`](crate::mpi::Comm::neighbor_allgather) | [`neighbor_allgather`](crate::Communicator::neighbor_allgather) |
//! | `MPI_Ineighbor_allgather` | [`ineighbor_allgather`](crate::mpi::Comm::ineighbor_allgather) | [`ineighbor_allgather`](crate::Communicator::ineighbor_allgather) |
//! | `MPI_Neighbor_allgather_init` | [`neighbor_allgather_init`](crate::mpi::Comm::neighbor_allgather_init) | [`neighbor_allgather_init`](crate::Communicator::neighbor_allgather_init) |
//! | `MPI_Neighbor_allgatherv` | [`neighbor_allgatherv`](crate::mpi::Comm::neighbor_allgatherv) | [`neighbor_allgatherv`](crate::Communicator::neighbor_allgatherv) |
//! | `MPI_Ineighbor_allgatherv` | [`ineighbor_allgatherv`](crate::mpi::Comm::ineighbor_allgatherv) | [`ineighbor_allgatherv`](crate::Communicator::ineighbor_allgatherv) |
//! | `MPI_Neighbor_allgatherv_init` | [`neighbor_allgatherv_init`](crate::mpi::Comm::neighbor_allgatherv_init) | [`neighbor_allgatherv_init`](crate::Communicator::neighbor_allgatherv_init) |
//! | `MPI_Neighbor_alltoall` | [`neighbor_alltoall`](crate::mpi::Comm::neighbor_alltoall) | [`neighbor_alltoall`](crate::Communicator::neighbor_alltoall) |
//! | `MPI_Ineighbor_alltoall` | [`ineighbor_alltoall`](crate::mpi::Comm::ineighbor_alltoall) | [`ineighbor_alltoall`](crate::Communicator::ineighbor_alltoall) |
//! | `MPI_Neighbor_alltoall_init` | [`neighbor_alltoall_init`](crate::mpi::Comm::neighbor_alltoall_init) | [`neighbor_alltoall_init`](crate::Communicator::neighbor_alltoall_init) |
//! | `MPI_Neighbor_alltoallv` | [`neighbor_alltoallv`](crate::mpi::Comm::neighbor_alltoallv) | [`neighbor_alltoallv`](crate::Communicator::neighbor_alltoallv) |
//! | `MPI_Ineighbor_alltoallv` | [`ineighbor_alltoallv`](crate::mpi::Comm::ineighbor_alltoallv) | [`ineighbor_alltoallv`](crate::Communicator::ineighbor_alltoallv) |
//! | `MPI_Neighbor_alltoallv_init` | [`neighbor_alltoallv_init`](crate::mpi::Comm::neighbor_alltoallv_init) | [`neighbor_alltoallv_init`](crate::Communicator::neighbor_alltoallv_init) |
//! | `MPI_Neighbor_alltoallw` | [`neighbor_alltoallw`](crate::mpi::Comm::neighbor_alltoallw) | - |
//! | `MPI_Ineighbor_alltoallw` | [`ineighbor_alltoallw`](crate::mpi::Comm::ineighbor_alltoallw) | - |
//! | `MPI_Neighbor_alltoallw_init` | [`neighbor_alltoallw_init`](crate::mpi::Comm::neighbor_alltoallw_init) | - |
//! | `MPI_Topo_test` | [`topology`](crate::mpi::Comm::topology) | - |
//!
//! ## Errors (chapter 9)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Add_error_class` | [`Process::add_error_class`](crate::mpi::Process::add_error_class) | - |
//! | `MPI_Add_error_code` | [`Process::add_error_code`](crate::mpi::Process::add_error_code) | - |
//! | `MPI_Add_error_string` | [`Process::add_error_string`](crate::mpi::Process::add_error_string) | - |
//! | `MPI_Comm_call_errhandler` | [`handle`](crate::mpi::Comm::handle) | - |
//! | `MPI_Comm_create_errhandler` | [`ErrorHandler::create`](crate::mpi::ErrorHandler::create) | - |
//! | `MPI_Comm_get_errhandler` | [`error_handler`](crate::mpi::Comm::error_handler) | - |
//! | `MPI_Comm_set_errhandler` | [`set_error_handler`](crate::mpi::Comm::set_error_handler) | - |
//! | `MPI_Error_class` | [`Process::error_class`](crate::mpi::Process::error_class) | - |
//! | `MPI_Error_string` | [`Process::error_string`](crate::mpi::Process::error_string) | - |
//! | `MPI_Remove_error_class` | [`Process::remove_error_code`](crate::mpi::Process::remove_error_code) | - |
//! | `MPI_Remove_error_code` | [`Process::remove_error_code`](crate::mpi::Process::remove_error_code) | - |
//! | `MPI_Remove_error_string` | [`Process::add_error_string`](crate::mpi::Process::add_error_string) | - |
//!
//! ## Info (chapter 10)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Info_create` | [`Info::new`](crate::mpi::Info::new) | - |
//! | `MPI_Info_delete` | [`Info::delete`](crate::mpi::Info::delete) | - |
//! | `MPI_Info_dup` | [`Info::dup`](crate::mpi::Info::dup) | - |
//! | `MPI_Info_get_nkeys` | [`Info::keys`](crate::mpi::Info::keys) | - |
//! | `MPI_Info_get_nthkey` | [`Info::nth_key`](crate::mpi::Info::nth_key) | - |
//! | `MPI_Info_get_string` | [`Info::get`](crate::mpi::Info::get) | - |
//! | `MPI_Info_set` | [`Info::set`](crate::mpi::Info::set) | - |
//!
//! ## One-sided communication (chapter 12)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Accumulate` | [`Window::accumulate`](crate::mpi::window::Window::accumulate) | [`Epoch::accumulate`](crate::Epoch::accumulate) |
//! | `MPI_Compare_and_swap` | [`Window::compare_and_swap`](crate::mpi::window::Window::compare_and_swap) | [`Epoch::compare_and_swap`](crate::Epoch::compare_and_swap) |
//! | `MPI_Fetch_and_op` | [`Window::fetch_and_op`](crate::mpi::window::Window::fetch_and_op) | [`Epoch::fetch_and_op`](crate::Epoch::fetch_and_op) |
//! | `MPI_Get` | [`Window::get`](crate::mpi::window::Window::get) | [`Epoch::get`](crate::Epoch::get), [`Epoch::read`](crate::Epoch::read) |
//! | `MPI_Get_accumulate` | [`Window::get_accumulate`](crate::mpi::window::Window::get_accumulate) | - |
//! | `MPI_Put` | [`Window::put`](crate::mpi::window::Window::put) | [`Epoch::put`](crate::Epoch::put) |
//! | `MPI_Raccumulate` | [`Window::raccumulate`](crate::mpi::window::Window::raccumulate) | - |
//! | `MPI_Rget` | [`Window::rget`](crate::mpi::window::Window::rget) | - |
//! | `MPI_Rget_accumulate` | [`Window::rget_accumulate`](crate::mpi::window::Window::rget_accumulate) | - |
//! | `MPI_Rput` | [`Window::rput`](crate::mpi::window::Window::rput) | - |
//! | `MPI_Win_allocate` | [`win_allocate`](crate::mpi::Comm::win_allocate) | [`fence_window`](crate::Communicator::fence_window), [`lock_window`](crate::Communicator::lock_window) |
//! | `MPI_Win_allocate_shared` | [`win_allocate_shared`](crate::mpi::Comm::win_allocate_shared) | - |
//! | `MPI_Win_attach` | [`Window::attach`](crate::mpi::window::Window::attach) | - |
//! | `MPI_Win_complete` | [`Window::complete`](crate::mpi::window::Window::complete) | - |
//! | `MPI_Win_create` | [`win_create`](crate::mpi::Comm::win_create) | - |
//! | `MPI_Win_create_dynamic` | [`win_create_dynamic`](crate::mpi::Comm::win_create_dynamic) | - |
//! | `MPI_Win_detach` | [`Window::detach`](crate::mpi::window::Window::detach) | - |
//! | `MPI_Win_fence` | [`Window::fence`](crate::mpi::window::Window::fence) | [`FenceWindow::epoch`](crate::FenceWindow::epoch) |
//! | `MPI_Win_flush` | [`Window::flush`](crate::mpi::window::Window::flush) | [`Epoch::flush`](crate::Epoch::flush) |
//! | `MPI_Win_flush_all` | [`Window::flush_all`](crate::mpi::window::Window::flush_all) | - |
//! | `MPI_Win_flush_local` | [`Window::flush_local`](crate::mpi::window::Window::flush_local) | - |
//! | `MPI_Win_flush_local_all` | [`Window::flush_local_all`](crate::mpi::window::Window::flush_local_all) | - |
//! | `MPI_Win_free` | [`Window::free`](crate::mpi::window::Window::free) | [`FenceWindow::free`](crate::FenceWindow::free), [`LockWindow::free`](crate::LockWindow::free) |
//! | `MPI_Win_get_group` | [`Window::group`](crate::mpi::window::Window::group) | - |
//! | `MPI_Win_get_info` | [`Window::info`](crate::mpi::window::Window::info) | - |
//! | `MPI_Win_get_name` | [`Window::name`](crate::mpi::window::Window::name) | - |
//! | `MPI_Win_lock` | [`Window::lock`](crate::mpi::window::Window::lock) | [`LockWindow::lock`](crate::LockWindow::lock) |
//! | `MPI_Win_lock_all` | [`Window::lock_all`](crate::mpi::window::Window::lock_all) | [`LockWindow::lock_all`](crate::LockWindow::lock_all) |
//! | `MPI_Win_post` | [`Window::post`](crate::mpi::window::Window::post) | - |
//! | `MPI_Win_set_info` | [`Window::set_info`](crate::mpi::window::Window::set_info) | - |
//! | `MPI_Win_set_name` | [`Window::set_name`](crate::mpi::window::Window::set_name) | - |
//! | `MPI_Win_shared_query` | [`Window::shared_query`](crate::mpi::window::Window::shared_query) | - |
//! | `MPI_Win_start` | [`Window::start`](crate::mpi::window::Window::start) | - |
//! | `MPI_Win_sync` | [`Window::sync`](crate::mpi::window::Window::sync) | - |
//! | `MPI_Win_test` | [`Window::test`](crate::mpi::window::Window::test) | - |
//! | `MPI_Win_unlock` | [`Window::unlock`](crate::mpi::window::Window::unlock) | the end of [`LockWindow::lock`](crate::LockWindow::lock) |
//! | `MPI_Win_unlock_all` | [`Window::unlock_all`](crate::mpi::window::Window::unlock_all) | the end of [`LockWindow::lock_all`](crate::LockWindow::lock_all) |
//! | `MPI_Win_wait` | [`Window::wait`](crate::mpi::window::Window::wait) | - |
//!
//! ## Process creation (chapter 11)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Close_port` | [`Process::close_port`](crate::mpi::Process::close_port) | - |
//! | `MPI_Comm_accept` | [`accept`](crate::mpi::Comm::accept) | - |
//! | `MPI_Comm_connect` | [`connect`](crate::mpi::Comm::connect) | - |
//! | `MPI_Comm_disconnect` | [`disconnect`](crate::mpi::Comm::disconnect) | - |
//! | `MPI_Comm_get_parent` | [`Process::parent`](crate::mpi::Process::parent) | [`Universe::parent`](crate::Universe::parent) |
//! | `MPI_Comm_join` | [`join_over`](crate::mpi::Comm::join_over) | - |
//! | `MPI_Comm_spawn` | [`spawn`](crate::mpi::Comm::spawn) | [`spawn`](crate::Communicator::spawn) |
//! | `MPI_Comm_spawn_multiple` | [`spawn`](crate::mpi::Comm::spawn) | [`spawn`](crate::Communicator::spawn) |
//! | `MPI_Lookup_name` | [`Process::lookup_name`](crate::mpi::Process::lookup_name) | - |
//! | `MPI_Open_port` | [`Process::open_port`](crate::mpi::Process::open_port) | - |
//! | `MPI_Publish_name` | [`Process::publish_name`](crate::mpi::Process::publish_name) | - |
//! | `MPI_Unpublish_name` | [`Process::unpublish_name`](crate::mpi::Process::unpublish_name) | - |
//!
//! ## Processes, threads and time (chapters 9 and 11)
//!
//! | function | untyped core | safe layer |
//! |---|---|---|
//! | `MPI_Abort` | [`Process::abort`](crate::mpi::Process::abort) | [`abort`](crate::Communicator::abort) |
//! | `MPI_Finalize` | [`Process::finalize`](crate::mpi::Process::finalize) | [`Universe::finalize`](crate::Universe::finalize) |
//! | `MPI_Finalized` | [`Process::is_finalized`](crate::mpi::Process::is_finalized) | [`is_finalized`](crate::is_finalized) |
//! | `MPI_Get_library_version` | [`library_version`](crate::mpi::environment::library_version) | [`library_version`](crate::library_version) |
//! | `MPI_Get_processor_name` | [`processor_name`](crate::mpi::environment::processor_name) | [`processor_name`](crate::processor_name) |
//! | `MPI_Get_version` | [`version`](crate::mpi::environment::version) | [`version`](crate::version) |
//! | `MPI_Init` | [`Process::init`](crate::mpi::Process::init) | [`Universe::init`](crate::Universe::init) |
//! | `MPI_Init_thread` | [`Process::init_thread`](crate::mpi::Process::init_thread) | [`Universe::init_thread`](crate::Universe::init_thread) |
//! | `MPI_Initialized` | [`is_initialized`](crate::mpi::environment::is_initialized) | [`is_initialized`](crate::is_initialized) |
//! | `MPI_Query_thread` | [`Process::thread_level`](crate::mpi::Process::thread_level) | - |
//! | `MPI_Is_thread_main` | [`Process::is_main_thread`](crate::mpi::Process::is_main_thread) | - |
//! | `MPI_Pcontrol` | [`Process::pcontrol`](crate::mpi::Process::pcontrol) | [`Universe::pcontrol`](crate::Universe::pcontrol) |
//! | `MPI_Wtick` | [`wtick`](crate::mpi::environment::wtick) | [`wtick`](crate::wtick) |
//! | `MPI_Wtime` | [`wtime`](crate::mpi::process::wtime) | [`wtime`](crate::wtime) |
