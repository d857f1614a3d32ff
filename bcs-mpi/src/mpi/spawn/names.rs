//! Names of ports (MPI 5.0, 11.9.4). The launcher keeps them.

use super::refused;
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::{Process, Result};
use bcs_core::job::{RankAnswer, RankRequest};

impl Process {
    /// `MPI_Publish_name`.
    ///
    /// # Errors
    /// When the name is published already, or there is no launcher.
    pub fn publish_name(&self, service: &str, port: &str) -> Result<()> {
        let request = RankRequest::Publish {
            service: service.to_owned(),
            port: port.to_owned(),
        };
        self.name(request, "MPI_Publish_name", ErrorClass::Service)
            .map(drop)
    }

    /// `MPI_Unpublish_name`.
    ///
    /// # Errors
    /// When the name is not published, or there is no launcher.
    pub fn unpublish_name(&self, service: &str) -> Result<()> {
        let service = service.to_owned();
        let request = RankRequest::Unpublish { service };
        self.name(request, "MPI_Unpublish_name", ErrorClass::Service)
            .map(drop)
    }

    /// `MPI_Lookup_name`: returns the port.
    ///
    /// # Errors
    /// When the name is not published, or there is no launcher.
    pub fn lookup_name(&self, service: &str) -> Result<String> {
        let service = service.to_owned();
        self.name(
            RankRequest::Lookup { service },
            "MPI_Lookup_name",
            ErrorClass::Name,
        )
    }

    fn name(&self, request: RankRequest, call: &'static str, class: ErrorClass) -> Result<String> {
        let operation = Operation::plain(call);
        self.alive(&operation)?;
        match self.ask_launcher(request) {
            Ok(RankAnswer::Port(port)) => Ok(port),
            Ok(RankAnswer::Refused(why)) => Err(refused(&operation, class, why)),
            Ok(RankAnswer::Spawned(_)) => {
                let why = "the launcher's answer makes no sense".to_owned();
                Err(refused(&operation, ErrorClass::Intern, why))
            }
            Err(why) => Err(refused(&operation, class, why)),
        }
    }
}
