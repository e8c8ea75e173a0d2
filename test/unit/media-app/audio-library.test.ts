import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { AudioLibrary } from '../../../media-app/media/audio-library.ts';

const { signal } = new AbortController();

describe('the audio that flows name by URL', () => {
  let folder: string;
  const asked: string[] = [];
  const fetchAudio = (url: string): Readable => {
    asked.push(url);
    return Readable.from([Buffer.from('so'), Buffer.from('und')]);
  };

  beforeEach(async () => {
    asked.length = 0;
    folder = await mkdtemp(join(tmpdir(), 'audio-library-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is a file with an absolute name for the media server, also when the data folder is a relative one', async () => {
    const library = new AudioLibrary(relative(process.cwd(), folder), fetchAudio);
    const [file = ''] = await library.open(['http://audio.example/a.wav'], signal);
    assert.ok(isAbsolute(file), file);
    assert.equal(await readFile(file, 'utf8'), 'sound');
  });

  it('is fetched once', async () => {
    const library = new AudioLibrary(folder, fetchAudio);
    await library.open(['http://audio.example/a.wav'], signal);
    await library.open(['http://audio.example/a.wav'], signal);
    assert.deepEqual(asked, ['http://audio.example/a.wav']);
  });

  it('is fetched once for all calls that ask at the same time, also when the first of them gives up', async () => {
    const library = new AudioLibrary(folder, fetchAudio);
    const leaving = new AbortController();
    const first = library.open(['http://audio.example/a.wav'], leaving.signal);
    const others = Array.from({ length: 20 }, () =>
      library.open(['http://audio.example/a.wav'], new AbortController().signal),
    );
    leaving.abort(new Error('the caller has hung up'));
    await assert.rejects(first, /has hung up/);
    const [file = ''] = (await Promise.all(others)).flat();
    assert.deepEqual([asked.length, await readFile(file, 'utf8')], [1, 'sound']);
  });

  it('never fills the disk: what was asked for least recently makes room', async () => {
    const library = new AudioLibrary(folder, fetchAudio, 50); // ten sounds of five bytes
    for (let n = 0; n < 40; n++)
      await library.open([`http://audio.example/a.wav?caller=${n}`, 'http://audio.example/often.mp3'], signal);
    assert.equal((await readdir(folder)).length, 10);
    assert.equal(asked.length, 41);
    const again = new AudioLibrary(folder, fetchAudio, 50);
    await again.open(['http://audio.example/often.mp3', 'http://audio.example/a.wav?caller=39'], signal);
    await again.open(['http://audio.example/new.wav'], signal);
    assert.deepEqual([asked.length, (await readdir(folder)).length], [42, 10]);
  });

  it('that broke off is asked for again the next time, and leaves nothing behind', async () => {
    const broken = async function* (): AsyncGenerator<Buffer> {
      yield await Promise.resolve(Buffer.from('so'));
      throw new Error('no answer');
    };
    let tries = 0;
    const library = new AudioLibrary(folder, url => (tries++ === 0 ? broken() : fetchAudio(url)));
    await assert.rejects(library.open(['http://audio.example/a.wav'], signal), /no answer/);
    assert.deepEqual(await readdir(folder), []);
    const [file = ''] = await library.open(['http://audio.example/a.wav'], signal);
    assert.equal(await readFile(file, 'utf8'), 'sound');
  });

  it('is never a path of the machine', async () => {
    const library = new AudioLibrary(folder, fetchAudio);
    for (const url of [
      '/etc/passwd',
      'file:///etc/passwd',
      '../a.wav',
      'file_string://a!b',
      'tone_stream://%(1,0,1)\r\nx',
    ])
      await assert.rejects(library.open([url], signal), /only http and https/, url);
    assert.deepEqual(asked, []);
  });

  it('may be tones and silences, but nothing in them that a media server expands or opens', async () => {
    const library = new AudioLibrary(folder, fetchAudio);
    const allowed = [
      'tone_stream://L=3;%(1000,4000,440,480)',
      'tone_stream://v=-13;d=100;12*#',
      'silence_stream://500,1400',
    ];
    assert.deepEqual(await library.open(allowed, signal), allowed);
    for (const url of ['tone_stream://${system(id)}', 'tone_stream://path=tones.ttml', 'silence_stream://{a=b}1'])
      await assert.rejects(library.open([url], signal), /only http and https/, url);
  });
});
