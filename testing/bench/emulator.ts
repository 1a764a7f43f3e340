import { RESOURCES, resourcePath, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { Emulator } from './emulator-server.ts'
import { costOf } from './process-cost.ts'
import { RawClient } from './raw-client.ts'
import { table } from './report.ts'

const OBJECTS = 20_000
const PAGE = 500
const CLIENTS = 32
const PATCHES_MS = 10_000

/** The emulated API server in a process of its own: many objects read in each way, and patched by many clients. */
export async function benchEmulator(): Promise<void> {
  await benchReads()
  for (const how of ['plain', 'TLS'] as const) await benchPatches(how)
}

async function benchReads(): Promise<void> {
  await using server = await Emulator.start([])
  console.log(`\nemulator, ${OBJECTS} objects of each kind`)
  console.log(row('kind', ['list (s)', 'pages (s)', 'watch (s)', 'MiB listed']))
  const empty = costOf(server.pid).rss
  for (const resource of RESOURCES) {
    await server.fill({ plural: resource.plural, count: OBJECTS })
    const path = resourcePath(resource, {})
    const listed = await timed(() => server.get(path))
    const paged = await timed(() => readPages(server, path))
    const watched = await timed(() => server.watchInitial(path))
    const figures = [listed.seconds, paged.seconds, watched.seconds, listed.result.length / 1024 ** 2]
    console.log(
      row(
        resource.plural,
        figures.map((figure) => figure.toFixed(2)),
      ),
    )
  }
  const { rss, anonymous, peak, cpuSeconds } = costOf(server.pid)
  table(`emulator, all kinds with ${OBJECTS} objects each`, {
    'RSS when empty (MiB)': empty,
    'RSS (MiB)': rss,
    'of it anonymous (MiB)': anonymous,
    'peak (MiB)': peak,
    'CPU (s)': cpuSeconds,
  })
}

async function readPages(server: Emulator, path: string): Promise<void> {
  let token: string | undefined
  do {
    const text = await server.get(`${path}?limit=${PAGE}${token === undefined ? '' : `&continue=${token}`}`)
    token = /"continue":"([^"]+)"/.exec(text)?.[1]
  } while (token !== undefined)
}

/** Many clients, each with its next patch as soon as the last is answered. */
async function benchPatches(how: 'plain' | 'TLS'): Promise<void> {
  await using server = await Emulator.start(how === 'TLS' ? ['--tls'] : [])
  await server.fill({ plural: VOLUME_ATTACHMENTS.plural, count: OBJECTS })
  await patchFor(server, PATCHES_MS / 5)
  const before = costOf(server.pid)
  const cpuBefore = process.cpuUsage()
  const { seconds, result: patches } = await timed(() => patchFor(server, PATCHES_MS))
  const cpuSeconds = costOf(server.pid).cpuSeconds - before.cpuSeconds
  const { user, system } = process.cpuUsage(cpuBefore)
  table(`emulator, ${CLIENTS} clients that patch, ${how}`, {
    'patches per second': patches / seconds,
    'CPU per patch (us)': (cpuSeconds * 1e6) / patches,
    'busy (cores)': cpuSeconds / seconds,
    'CPU of the clients per patch (us)': (user + system) / patches,
  })
}

async function patchFor(server: Emulator, ms: number): Promise<number> {
  const end = performance.now() + ms
  let patches = 0
  const client = async (): Promise<void> => {
    const connection = new RawClient(server.url)
    try {
      while (performance.now() < end) {
        patches += 1
        const code = await connection.send(patchOf(patches))
        if (code !== 200) throw new Error(`a patch was answered with ${code}`)
      }
    } finally {
      connection.close()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return patches
}

/** As the attacher marks an attachment. */
function patchOf(number: number): string {
  const path = resourcePath(VOLUME_ATTACHMENTS, { name: `va-${number % OBJECTS}` })
  const annotations = { 'csi.alpha.kubernetes.io/node-id': `node-${number}` }
  const body = JSON.stringify({ metadata: { annotations, finalizers: ['external-attacher/csi-example-com'] } })
  const head = [
    `PATCH ${path} HTTP/1.1`,
    'host: localhost',
    'authorization: Bearer admin',
    'content-type: application/merge-patch+json',
    `content-length: ${body.length}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

async function timed<T>(run: () => Promise<T>): Promise<{ readonly seconds: number; readonly result: T }> {
  const started = performance.now()
  const result = await run()
  return { seconds: (performance.now() - started) / 1000, result }
}

function row(first: string, cells: readonly string[]): string {
  return `  ${first.padEnd(26)}${cells.map((cell) => cell.padStart(12)).join('')}`
}
