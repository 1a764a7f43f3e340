import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { LEASES } from '@csi-sidecars/kube-types'
import type { App } from '../../../e2e/harness/subject.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { APPS, type Side } from '../side.ts'
import { startTimes } from './idle.ts'

const LEADS_WITHIN_MS = 60_000
/** The first watch follows the lease within a second. */
const WATCHES_MS = 3000
const FORGOTTEN_WITHIN_MS = 30_000
const MIB = 1024 ** 2

/** A start on a node that was rebooted, or has just pulled the image. */
export const coldStart: BenchScene = {
  name: 'cold-start',
  title: 'Cold start',
  conditions:
    'On an empty API. Before each start the kernel drops the pages of the executable from its cache, but not those of ' +
    'the C library; the disk, or the host that provides it, may have them still. Bytes read and major faults are ' +
    `those until ${WATCHES_MS / 1000} s after the lease was written.`,
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, async (side, round) => {
      for (const app of APPS) await start(bench, ground, { app, side, round })
    })
  },
}

async function start({ figures }: Bench, ground: Ground, who: { app: App; side: Side; round: number }): Promise<void> {
  const { app, side, round } = who
  const driver = await ground.driver(`${side}-${round}.cold.example.com`)
  const leaseNamespace = `${app}-${side}-${round}`
  await ground.namespace(leaseNamespace)
  dropPages(ground.executableOf(who))
  const subject = await ground.start({ side, app, driver, leaseNamespace })
  const leads = async (): Promise<boolean> => (await ground.api.list(LEASES, leaseNamespace)).length > 0
  await subject.until('its lease', leads, LEADS_WITHIN_MS)
  await pause(WATCHES_MS)
  const { readMib, majorFaults } = readFromDisk(subject.sidecar.pid)
  await subject.stop()
  const times = await startTimes(subject)
  if (readMib === 0) throw new Error(`the start of ${side} ${app} was not cold: it has read nothing from the disk`)
  figures.note(app, side, { ...times, 'read from the disk (MiB)': readMib, 'major faults': majorFaults })
}

/** Writes changed pages to the disk, and drops the file from the kernel's page cache. */
function dropPages(file: string): void {
  const args = [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']
  execFileSync('dd', args, { timeout: FORGOTTEN_WITHIN_MS })
}

function readFromDisk(pid: number): { readonly readMib: number; readonly majorFaults: number } {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    readMib: Number(/^read_bytes: (\d+)$/m.exec(io)?.[1] ?? Number.NaN) / MIB,
    majorFaults: Number(fields[9]),
  }
}
