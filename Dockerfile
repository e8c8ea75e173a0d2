# One image for both processes of ours: docker-compose.yml says which one a container runs.
FROM node:20-bookworm-slim

# Speech (espeak-ng, flite) and audio files of any kind (ffmpeg) are media-app's.
RUN apt-get update \
  && apt-get install -y --no-install-recommends espeak-ng flite ffmpeg \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /srv/trunkline
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-fund --no-audit && npm cache clean --force
COPY . .

# Everything that must survive, and what media-app and FreeSWITCH hand each other. The folder keeps its path everywhere.
ENV DATA_DIR=/data
RUN mkdir /data && chown node:node /data
VOLUME /data

USER node
CMD ["node", "--import", "tsx", "control-api/main.ts"]
