import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { AppName } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { type Cluster, type RunningProcess, startCluster, startProcess } from '@csi-sidecars/testkit'
import { costOf } from './process-cost.ts'
import { table } from './report.ts'

/** How the sidecars are run where two replicas share a cluster. */
export const LEADING = ['--leader-election', '--leader-election-namespace=default', '--http-endpoint=127.0.0.1:0']

export interface Running {
  readonly cluster: Cluster
  readonly sidecar: RunningProcess
  /** When it was started, by `performance.now()`. */
  readonly started: number
}

export interface Setup {
  readonly app: AppName
  readonly args?: readonly string[]
  readonly objects?: readonly KubeObject[]
}

/**
 * A copy of a built sidecar in a folder, to be warmed up before it is measured: a file that was just written is not in
 * the page cache as one in use is, and would count as memory.
 */
export function copiedExecutable(app: Setup['app'], folder: string): string {
  const copy = join(folder, `csi-${app}`)
  copyFileSync(fileURLToPath(new URL(`../../apps/${app}/dist/csi-${app}`, import.meta.url)), copy)
  return copy
}

/** Runs a built sidecar as the leader of an emulated cluster, for as long as `body` takes. */
export async function withSidecar({ app, args = [], objects = [] }: Setup, body: (running: Running) => Promise<void>) {
  await using cluster = await startCluster({ objects })
  const binary = copiedExecutable(app, cluster.directory)
  const started = performance.now()
  const sidecar = await startProcess({
    command: [
      binary,
      `--kubeconfig=${cluster.kubeconfig}`,
      `--csi-address=${cluster.driver.socket}`,
      ...LEADING,
      ...args,
    ],
    env: { MALLOC_ARENA_MAX: '1' },
  })
  try {
    await body({ cluster, sidecar, started })
  } finally {
    await sidecar.stop()
  }
}

/** Resolves when the caches are filled and work begins. */
export async function atWork(app: Setup['app'], { sidecar }: Running): Promise<void> {
  await sidecar.untilLine(FACTS[app].startLine, { timeoutMs: 120_000 })
}

/** A leader with nothing to do. */
export async function benchIdle(app: Setup['app']): Promise<void> {
  await withSidecar({ app }, async (running) => {
    const { cluster, sidecar, started } = running
    await cluster.api.requests.until({ verb: 'watch' })
    const firstWatch = performance.now() - started
    await atWork(app, running)
    await sleep(10_000)
    const before = costOf(sidecar.pid)
    await sleep(60_000)
    const after = costOf(sidecar.pid)
    table(`${app}, idle leader on an empty API`, {
      'RSS (MiB)': after.rss,
      'of it anonymous (MiB)': after.anonymous,
      'exec to first watch (ms)': firstWatch,
      'CPU per minute (s)': after.cpuSeconds - before.cpuSeconds,
    })
  })
}

/** A leader whose caches hold much and that has nothing to do. */
export async function benchLoaded(setup: Setup, title: string): Promise<void> {
  await withSidecar(setup, async (running) => {
    const { sidecar, started } = running
    await atWork(setup.app, running)
    const synced = performance.now() - started
    const atSync = costOf(sidecar.pid)
    await sleep(30_000)
    const settled = costOf(sidecar.pid)
    table(`${setup.app}, ${title}`, {
      'exec to synced (s)': synced / 1000,
      'CPU to synced (s)': atSync.cpuSeconds,
      'RSS settled (MiB)': settled.rss,
      'of it anonymous (MiB)': settled.anonymous,
      'peak (MiB)': settled.peak,
    })
  })
}

/** Polls the emulator, which is in this process. */
export async function until(done: () => boolean): Promise<void> {
  while (!done()) await sleep(20)
}
