import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inParallel, systemClock } from '@csi-sidecars/base'
import { createKubeClient, flowOptions, loadClusterConfig, type OwnedKubeClient } from '@csi-sidecars/kube-client'
import { resourcePath, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { median } from '../e2e/harness/median.ts'
import { Emulator } from './emulator-server.ts'
import { table } from './report.ts'

const OBJECTS = 1000
const PATCHES = 4000
const ROUNDS = 5
const BODY = { metadata: { annotations: { 'csi.alpha.kubernetes.io/node-id': 'node' } } }

/** Sends one patch and resolves when its answer has been read as JSON. */
type Send = (name: string) => Promise<unknown>

/** The time of a patch over TLS by our client, and by `node:https` alone. */
export async function benchHttpClient(): Promise<void> {
  await using server = await Emulator.start(['--tls'])
  await server.fill({ plural: VOLUME_ATTACHMENTS.plural, count: OBJECTS })
  const client = await connect(server.kubeconfig)
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  try {
    for (const atOnce of [1, 32]) {
      const ways = { 'ours (us)': ours(client), 'node:https (us)': bare(server.url, agent) }
      const figures = new Map(Object.keys(ways).map((name): [string, number[]] => [name, []]))
      // In turn, and the first round is for warming up.
      for (let round = 0; round <= ROUNDS; round += 1) {
        for (const [name, send] of Object.entries(ways)) {
          const microseconds = await cpuOf(send, atOnce)
          if (round > 0) figures.get(name)?.push(microseconds)
        }
      }
      const medians = [...figures].map(([name, all]): [string, number] => [name, median(all)])
      table(`CPU of the client per patch, ${atOnce} at a time`, Object.fromEntries(medians))
    }
  } finally {
    client.close()
    agent.destroy()
  }
}

async function connect(kubeconfigText: string): Promise<OwnedKubeClient> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  try {
    const kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigText)
    const parts = { clock: systemClock, log: silentLogger, env: {} }
    const config = await loadClusterConfig({ kubeconfig, ...parts })
    return createKubeClient({ config, flow: flowOptions({ qps: -1 }), userAgent: 'bench', ...parts })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function ours(client: OwnedKubeClient): Send {
  return (name) => client.patch(VOLUME_ATTACHMENTS, { name }, { kind: 'merge', body: BODY })
}

function bare(url: URL, agent: Agent): Send {
  const text = JSON.stringify(BODY)
  const headers = {
    accept: 'application/json',
    authorization: 'Bearer admin',
    'user-agent': 'bench',
    'content-type': 'application/merge-patch+json',
    'content-length': Buffer.byteLength(text),
  }
  return (name) =>
    new Promise((resolve, reject) => {
      const path = resourcePath(VOLUME_ATTACHMENTS, { name })
      const sent = request(new URL(path, url), { method: 'PATCH', agent, headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(JSON.parse(Buffer.concat(chunks).toString()))
          else reject(new Error(`a patch was answered with ${answer.statusCode}`))
        })
      })
      sent.on('error', reject)
      sent.end(text)
    })
}

async function cpuOf(send: Send, atOnce: number): Promise<number> {
  const before = process.cpuUsage()
  await inParallel(atOnce, Array(PATCHES).keys(), (nth) => send(`va-${nth % OBJECTS}`))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / PATCHES
}
