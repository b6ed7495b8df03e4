from tests.cluster.conftest import server as server
