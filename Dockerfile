# Uncaged in a container. The wheel in dist/ is installed when `scripts/package` made one; otherwise wheel and JavaScript engine are
# built from this checkout. Needs the base image and a package index, nothing else; the image that is kept has no compiler in it.
# docs/deploy.md shows how it is run.
FROM python:3.13-slim-trixie AS build

ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    UV_PROJECT_ENVIRONMENT=/opt/uncaged UV_PYTHON=python3.13 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_NO_CACHE=1 UV_NO_PROGRESS=1
# the version that scripts/install pins
RUN python -m venv /opt/uv && /opt/uv/bin/pip install --quiet --only-binary=:all: --no-deps uv==0.13.9

WORKDIR /src
# the packages are a layer of their own: a changed line of code downloads nothing
COPY pyproject.toml uv.lock ./
RUN /opt/uv/bin/uv sync --frozen --quiet --no-build --no-default-groups --extra media --extra otel --no-install-project --compile-bytecode
COPY . .
RUN if ls dist/*.whl >/dev/null 2>&1; \
    then /opt/uv/bin/uv pip install --quiet --python /opt/uncaged --only-binary :all: --no-deps --compile-bytecode dist/*.whl; \
    else /opt/uv/bin/uv export --frozen --quiet --no-default-groups --group dev --no-emit-project --no-hashes --output-file /tmp/tools.txt; \
         python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > /tmp/tools.in; \
         /opt/uv/bin/uv pip install --quiet --python /opt/uncaged --only-binary :all: --constraint /tmp/tools.txt --target /tmp/tools --requirement /tmp/tools.in; \
         PYTHONPATH=/tmp/tools /opt/uv/bin/uv sync --frozen --quiet --no-default-groups --extra media --extra otel --no-editable --no-build-isolation-package uncaged --compile-bytecode; fi
# native code of the engine, so that no container compiles it when it starts; -P: of what was installed, not of /src
RUN /opt/uncaged/bin/python -P -m sigil.compile.toolchain.native_code


FROM python:3.13-slim-trixie

RUN groupadd --system --gid 10001 uncaged \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin uncaged \
    && install -d -o uncaged -g uncaged -m 0700 /data \
    && install -d /etc/uncaged
COPY --from=build /opt/uncaged /opt/uncaged

ENV PATH=/opt/uncaged/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 UNCAGED_DATA=/data
USER 10001:10001
# an uncaged.toml that is mounted here is read; the process itself can write nothing here
WORKDIR /etc/uncaged
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM

# http.client asks no proxy of the environment
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-IS", "-c", \
    "import http.client as c; d = c.HTTPConnection('127.0.0.1', 8000, timeout=4); d.request('GET', '/health'); raise SystemExit(d.getresponse().status != 200)"]

ENTRYPOINT ["uncaged"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
