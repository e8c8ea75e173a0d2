/* global window, document, AudioContext, btoa */
// The page of the browser phone: JsSIP as an application uses it, and what is heard handed out at 8 kHz.
import JsSIP from 'jssip';

const AUDIO = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

/** What happened, for who asks later: each is told once. */
const happened = [];
const asking = [];
const match = () => {
  for (const one of [...asking]) {
    const at = happened.indexOf(one.what);
    if (at < 0) continue;
    happened.splice(0, at + 1);
    asking.splice(asking.indexOf(one), 1);
    one.done();
  }
};
const tell = what => {
  happened.push(what);
  match();
};
const until = what =>
  new Promise(done => {
    asking.push({ what, done });
    match();
  });

let context;

/** Samples of the far end go to `window.heard` as base64 of 16 bit. */
const listen = async track => {
  const stream = new window.MediaStream([track]);
  const element = document.createElement('audio'); // Chromium decodes nothing that no element plays
  element.srcObject = stream;
  element.muted = true;
  await element.play();
  await context?.close(); // that of the call before
  context = new AudioContext({ sampleRate: 8000 });
  const ear = context.createScriptProcessor(256, 1, 1);
  ear.onaudioprocess = ({ inputBuffer }) => {
    const samples = Int16Array.from(inputBuffer.getChannelData(0), one => Math.max(-1, Math.min(1, one)) * 32767);
    window.heard(btoa(String.fromCharCode(...new Uint8Array(samples.buffer))));
  };
  context.createMediaStreamSource(stream).connect(ear);
  ear.connect(context.destination);
};

let ua;
let session;
/** That on hold while another one is consulted. */
let first;

const take = ({ session: one }) => {
  session = one;
  const connected = connection => connection.addEventListener('track', ({ track }) => void listen(track));
  if (one.connection) connected(one.connection);
  else one.on('peerconnection', ({ peerconnection }) => connected(peerconnection));
  one.on('confirmed', () => tell('confirmed'));
  one.on('ended', () => tell('ended'));
  one.on('failed', ({ cause }) => tell(`failed: ${cause}`));
  if (one.direction === 'incoming') tell('incoming');
};

const options = { mediaConstraints: { audio: AUDIO, video: false }, pcConfig: { iceServers: [] } };

window.phone = {
  until,
  drop: () => ua.terminateSessions(),
  forget: () => void (happened.length = 0),
  async register({ server, uri, user, password }) {
    const sockets = [new JsSIP.WebSocketInterface(server)];
    ua = new JsSIP.UA({ sockets, uri, authorization_user: user, password });
    ua.on('registered', () => tell('registered'));
    ua.on('newRTCSession', take);
    ua.start();
    await until('registered');
  },
  dial: target => void ua.call(target, options),
  answer: () => session.answer(options),
  hold: () => new Promise(done => session.hold({}, done)),
  resume: () => new Promise(done => session.unhold({}, done)),
  refer: target =>
    new Promise((done, fail) =>
      session.refer(target, { eventHandlers: { accepted: done, failed: fail, requestFailed: fail } }),
    ),
  async consult(target) {
    await window.phone.hold();
    first = session;
    ua.call(target, options);
  },
  join: () =>
    new Promise((done, fail) =>
      first.refer(session.remote_identity.uri, {
        ...{ replaces: session, eventHandlers: { accepted: done, failed: fail, requestFailed: fail } },
      }),
    ),
  hangup: () => session.terminate(),
  stop: async () => {
    ua.once('unregistered', () => tell('unregistered'));
    ua.stop();
    await until('unregistered');
  },
};
