// The measured process: node CLIENT.mjs HOST PORT CERTIFICATE REQUESTS. It prints its figures as JSON.
import { readFileSync } from 'node:fs'
import type { BenchClient, BenchServer } from './client.ts'

const WARM_UP = 5_000
/** The requests in flight, as in a storm of attachments. */
const IN_FLIGHT = 32
const BODY = JSON.stringify({ metadata: { uid: 'u'.repeat(36) }, status: { attached: true, text: 'x'.repeat(300) } })

/** Sends the requests and prints the CPU time of 1,000 requests, and the memory at the end. */
export async function run(openClient: (server: BenchServer) => BenchClient): Promise<void> {
  const [host = '', port = '', certificate = '', requests = ''] = process.argv.slice(2)
  const client = openClient({ host, port: Number(port), ca: readFileSync(certificate, 'utf8') })
  await sendMany(client, WARM_UP)
  const before = process.cpuUsage()
  await sendMany(client, Number(requests))
  const { user, system } = process.cpuUsage(before)
  await client.close()
  const status = readFileSync('/proc/self/status', 'utf8')
  const mib = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  const figures = { cpuMs: (user + system) / Number(requests), rssMiB: mib('VmHWM'), anonymousMiB: mib('RssAnon') }
  process.stdout.write(JSON.stringify(figures))
}

async function sendMany(client: BenchClient, count: number): Promise<void> {
  let left = count
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const aborting = new AbortController()
      await client.send({
        path: `/apis/storage.k8s.io/v1/volumeattachments/va-${left}/status`,
        body: BODY,
        signal: aborting.signal,
      })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
}
