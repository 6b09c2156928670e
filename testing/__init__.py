"""What tests, bench and lab share: fakes, certificates, namespaces, copies of the project."""
