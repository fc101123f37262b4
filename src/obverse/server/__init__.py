"""serve: a project for analysts who are not trusted, over HTTP and the PostgreSQL wire protocol."""
