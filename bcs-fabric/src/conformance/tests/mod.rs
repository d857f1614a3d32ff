//! Each fabric keeps the laws.

mod shm;
mod siege;
mod sim;
mod udp;
