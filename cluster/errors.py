"""Input that cannot be used."""


class ConfigError(Exception):
    """Raised before anything is touched; one line per problem, each with the field's path."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
