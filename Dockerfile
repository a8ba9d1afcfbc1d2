# docker build -t forager .
# docker run --rm -it -v "$PWD:/data" --user "$(id -u):$(id -g)" forager crawl owls
#
# Projects lie in /data. More parts: docker build --build-arg EXTRAS=lexical,parquet,render -t forager .

FROM python:3.12-slim AS build
ARG EXTRAS=""
WORKDIR /source
COPY pyproject.toml MANIFEST.in README.md LICENSE constraints.txt ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
RUN python -m venv /opt/forager \
 && wheel="$(ls /wheels/forager-*.whl)" \
 && /opt/forager/bin/python -m pip install --no-cache-dir -c constraints.txt "$wheel${EXTRAS:+[$EXTRAS]}"

FROM python:3.12-slim
COPY --from=build /opt/forager /opt/forager
ENV PATH="/opt/forager/bin:$PATH"
RUN useradd --create-home --uid 1000 forager \
 && install --directory --owner=forager --group=forager /data
USER forager
WORKDIR /data
VOLUME /data
ENTRYPOINT ["forager"]
CMD ["--help"]
