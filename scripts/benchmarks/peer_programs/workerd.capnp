using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .loader)],
  sockets = [(name = "http", http = (), service = "main")],
);

const loader :Workerd.Worker = (
  modules = [(name = "loader.js", esModule = embed "loader.js")],
  compatibilityDate = "2025-11-01",
  bindings = [(name = "LOADER", workerLoader = (id = "bench"))],
);
