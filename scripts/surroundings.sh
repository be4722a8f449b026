# install, tool, npm and package source this in the checkout: it makes uv work with any home folder, certificates and environment of the caller.

unset VIRTUAL_ENV PYTHONHOME PYTHONPATH
export UV_PROJECT_ENVIRONMENT=$PWD/.venv UV_PYTHON=$PWD/.venv/bin/python UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1

# A home that is missing or cannot be written must not matter: caches then live in build/.
settle_caches() {
  local home=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}
  if ! { [ -d "${HOME:-/nonexistent}" ] && mkdir -p "$home/uv" && [ -w "$home/uv" ]; } 2>/dev/null; then
    export UV_CACHE_DIR=${UV_CACHE_DIR:-$PWD/build/cache/uv} PIP_CACHE_DIR=${PIP_CACHE_DIR:-$PWD/build/cache/pip}
    export XDG_CACHE_HOME=$PWD/build/cache
  fi
}

# The packages' downloads trust what the machine trusts, as pip's do, where it has a list of certificates. Node has its own list, and adds this one.
settle_certificates() {
  local list
  for list in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
    if [ -f $list ]; then export UV_SYSTEM_CERTS=1 NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$list}; fi
  done
}

settle_caches
settle_certificates
