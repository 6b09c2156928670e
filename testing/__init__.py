"""Stand-ins and tools that tests, bench and lab share: fakes, certificates, namespaces, copies of the project."""
