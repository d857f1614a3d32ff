//! Each fabric keeps the laws.

mod layouts;
mod shm;
mod siege;
mod sim;
mod udp;
