"""The database of the tests of persistence, for the threads that are kept in one."""

from tests.persistence.conftest import postgres_server as postgres_server
