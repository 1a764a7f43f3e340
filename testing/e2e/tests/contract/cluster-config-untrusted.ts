import { deepStrictEqual as equal, match } from 'node:assert'
import { createServer as createHttpServer } from 'node:http'
import { listen } from '../../harness/listen.ts'
import { testsOf } from '../../harness/test.ts'
import { reading, works } from './cluster-config-scene.ts'

const PASSWORD = 'hunter2'

/** Kubeconfigs that are no plain YAML, and that the originals read all the same. */
const READABLE: Readonly<Record<string, (text: string) => string>> = {
  'a tag that no reader knows at its mapping': (text) => `!config ${text}`,
  'a tag that no reader knows at its token': (text) => text.replace('"token":', '"token": !mine '),
  'an alias for its token': (text) =>
    text.replace(/"token":("[^"]+")/, '"token": *t ').replace(/^\{/, `{"note": &t ${tokenIn(text)}, `),
  'two tokens, of which the last one counts': (text) => text.replace('"token":', '"token":"first","token":'),
}

/** Each line has twice the nodes of the line before. */
const GROWING = `a0: &a0 x\n${Array.from({ length: 40 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`).join('')}`

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'cluster configuration')

  for (const [what, around] of Object.entries(READABLE)) {
    test(`a kubeconfig with ${what}`, async (t) => {
      await works(t, await reading(t, () => undefined, { around }))
    })
  }

  test('a kubeconfig whose aliases outgrow it ends the start', async (t) => {
    const sidecar = await reading(t, () => undefined, { around: () => GROWING })
    equal((await sidecar.end()).code, 1)
    match(sidecar.stderr, /yaml: document contains excessive aliasing/)
  })

  // The originals log the URL as it is written.
  test('a proxy-url that is refused is logged without its password', { only: 'ours' }, async (t) => {
    const sidecar = await reading(t, ({ cluster }) => {
      cluster['proxy-url'] = `ftp://me:${PASSWORD}@127.0.0.1:1`
    })
    equal((await sidecar.end()).code, 1)
    match(sidecar.stderr, /ftp:\/\/xxxxx@127\.0\.0\.1:1/)
    equal(sidecar.linesWith(PASSWORD), [])
  })

  test('a proxy that refuses the sidecar: its password is not logged', async (t) => {
    const server = createHttpServer()
    server.on('connect', (_, socket) => {
      socket.on('error', () => undefined) // the sidecar closes it
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    })
    using proxy = await listen(server)
    const through: Parameters<typeof reading>[1] = ({ cluster }) => {
      cluster['proxy-url'] = `http://me:${PASSWORD}@127.0.0.1:${proxy.port}`
    }
    const sidecar = await reading(t, through, { args: ['-v=9'] })
    await sidecar.line('Proxy Authentication Required')
    equal(sidecar.linesWith(PASSWORD), [])
  })
}

function tokenIn(text: string): string {
  return /"token":("[^"]+")/.exec(text)?.[1] ?? ''
}
