// `npm exec -- node testing/bench/http-clients/main.ts` compares libs/http1 with undici's Pool, in turn, each in a
// process of its own with a bundle as in an image. The table goes into testing/bench/RESULTS.md by hand.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import { COUNT, readArguments } from '@csi-sidecars/command'
import { build, type Plugin } from 'esbuild'
import { median } from '../../e2e/harness/median.ts'
import { temporaryFolder } from '../../e2e/harness/process/processes.ts'

/** The option of a sidecar's start that decides about its memory, in tools/start-flags.mjs. */
const SEMI_SPACE = '--max-semi-space-size=4'
const CLIENTS = ['http1', 'undici'] as const
const MEASURED = { cpuMs: 'CPU of 1,000 requests (ms)', rssMiB: 'peak RSS (MiB)', anonymousMiB: 'anonymous (MiB)' }
type Measured = keyof typeof MEASURED

const { values } = readArguments(
  'node testing/bench/http-clients/main.ts [--rounds 9] [--requests 20000]',
  { options: { rounds: { type: 'string', default: '9' }, requests: { type: 'string', default: '20000' } } },
  { rounds: COUNT, requests: COUNT },
)

/** Leaves out what the main file of undici loads in addition to its Pool: fetch, WebSocket, caches. */
const poolAlone: Plugin = {
  name: 'pool-alone',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'pool-alone' }))
    onLoad({ filter: /.*/, namespace: 'pool-alone' }, () => ({
      contents: "exports.Pool = require('undici/lib/dispatcher/pool.js')",
      resolveDir: import.meta.dirname,
    }))
  },
}

const folder = temporaryFolder('http-clients')
const { cert, key } = selfSignedCertificate({
  commonName: 'bench',
  dnsNames: [],
  addresses: [[127, 0, 0, 1]],
  now: systemClock.now(),
  days: 1,
})
writeFileSync(join(folder, 'cert.pem'), cert)
writeFileSync(join(folder, 'key.pem'), key)
const server = spawn(
  process.execPath,
  [join(import.meta.dirname, 'server.ts'), join(folder, 'cert.pem'), join(folder, 'key.pem')],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
const [port] = await once(server.stdout, 'data')
try {
  const bundles = new Map<string, string>()
  for (const client of CLIENTS) bundles.set(client, await bundle(client))
  const rows = new Map(CLIENTS.map((client) => [client, [] as Record<Measured, number>[]]))
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const client of CLIENTS) rows.get(client)?.push(measure(bundles.get(client) ?? ''))
  }
  const figure = (client: (typeof CLIENTS)[number], measure: Measured): string => {
    const all = rows.get(client)?.map((row) => row[measure]) ?? []
    return `${median(all).toFixed(3)} (${Math.min(...all).toFixed(3)} to ${Math.max(...all).toFixed(3)})`
  }
  console.log(`| what | ${CLIENTS.join(' | ')} |\n|---|---|---|`)
  for (const measure of Object.keys(MEASURED) as Measured[])
    console.log(`| ${MEASURED[measure]} | ${CLIENTS.map((client) => figure(client, measure)).join(' | ')} |`)
  const sizes = CLIENTS.map((client) => (statSync(bundles.get(client) ?? '').size / 1024).toFixed(0))
  console.log(`| bundle (KiB) | ${sizes.join(' | ')} |`)
} finally {
  server.kill()
}

async function bundle(client: (typeof CLIENTS)[number]): Promise<string> {
  const outfile = join(folder, `${client}.mjs`)
  await build({
    entryPoints: [join(import.meta.dirname, `${client}.ts`)],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    minify: true,
    plugins: [poolAlone],
    // The CommonJS code of undici needs `require`.
    banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
  })
  return outfile
}

function measure(file: string): Record<Measured, number> {
  const args = ['127.0.0.1', String(port).trim(), join(folder, 'cert.pem'), values.requests]
  return JSON.parse(execFileSync(process.execPath, [SEMI_SPACE, file, ...args], { encoding: 'utf8' }))
}
