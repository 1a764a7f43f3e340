import { join } from 'node:path'
import type { Clock } from '@csi-sidecars/base'
import { runSeeds, type Verdict } from '@csi-sidecars/disturb'
import type { CsiDriver } from '@csi-sidecars/emulator'
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../cluster/devcluster.ts'
import { PROGRAM } from '../place.ts'
import { type ChaosDriver, type ChaosEvent, type ChaosResult, runChaos } from './run.ts'

export interface SeedsOptions {
  readonly seeds: readonly number[]
  readonly durationMs: number
  readonly cluster: Omit<DevclusterOptions, 'directory' | 'onTrouble' | 'kubeconfig' | 'driver'>
  readonly directory: string
  readonly clock: Clock
  readonly write: (text: string) => void
  /** Shows the cluster of a seed while faults are injected. */
  readonly show?: (cluster: Devcluster, seed: number) => Promise<ChaosShow>
}

export interface ChaosShow extends AsyncDisposable {
  report(news: ChaosEvent): void
  end(violations: readonly string[]): void
}

const CONVERGE_MS = 60_000

/** A fresh cluster, with the real sidecars, for each seed. Returns whether all of them kept what must hold. */
export function runChaosSeeds(options: SeedsOptions, signal: AbortSignal): Promise<boolean> {
  const { durationMs, write } = options
  const seconds = durationMs / 1000
  return runSeeds(options.seeds, {
    run: async (seed) => {
      // Every third seed disturbs the controllers only, and is then held to doing nothing twice.
      const profile = seed % 3 === 0 ? 'restarts' : 'all'
      write(`seed ${seed} (${profile}) for ${seconds} s\n`)
      return verdictOf(await runSeed({ seed, profile }, options, signal))
    },
    say: (line) => write(`${line}\n`),
    again: (seed) => `${PROGRAM} --chaos=${seed} --chaos-seconds=${seconds}`,
    signal,
  })
}

function verdictOf({ actions, violations, missing, left }: ChaosResult): Verdict {
  const findings = [
    ...violations.map((text) => ({ rule: 'at any time', text })),
    ...missing.map(({ text }) => ({ rule: 'after the last fault', text })),
    ...left.map((text) => ({ rule: 'after everything was deleted', text })),
  ]
  return { findings, summary: `${actions} actions${findings.length === 0 ? ', all held' : ''}` }
}

async function runSeed(
  { seed, profile }: { readonly seed: number; readonly profile: 'all' | 'restarts' },
  { cluster: options, directory, durationMs, clock, show }: SeedsOptions,
  signal: AbortSignal,
): Promise<ChaosResult> {
  const cluster = await startDevcluster(
    {
      ...options,
      directory: join(directory, `seed-${seed}`),
      sidecarArgs: ['--retry-interval-max=5s'],
      onTrouble: () => undefined,
    },
    signal,
  )
  try {
    const { api, emulatedDriver: driver, controllers, nodeNames: nodes } = cluster
    if (api === undefined || driver === undefined) throw new Error('only what is emulated can be broken')
    const parts = { controllers, nodes, killSidecar: killSidecarOf(cluster), clock, log: options.log }
    await using shown = await show?.(cluster, seed)
    const report = shown && ((news: ChaosEvent) => shown.report(news))
    const target = { api, driver: emulatedTarget(driver, clock), ...parts, report }
    const result = await runChaos(target, { seed, durationMs, profile, convergeMs: CONVERGE_MS }, signal)
    shown?.end(verdictOf(result).findings.map(({ text }) => text))
    return result
  } finally {
    await cluster.stop()
  }
}

export function killSidecarOf({ sidecars }: Devcluster): (which: number) => Promise<void> {
  return async (which) => {
    sidecars[which % Math.max(1, sidecars.length)]?.sidecar.kill('SIGKILL')
  }
}

/** The emulated driver, which can be looked into. */
export function emulatedTarget(driver: CsiDriver, clock: Clock): ChaosDriver {
  return {
    name: driver.settings.name,
    watchCalls: (listener) => driver.log.subscribe(listener),
    publishedTo: (id) => [...(driver.volumes.get(id)?.attachments.keys() ?? [])],
    // Every node has a folder of its own, named after it; so is its id at the driver.
    mountedOn: (node, id) => {
      const volume = driver.volumes.get(id)
      const paths = [...(volume?.staged.keys() ?? []), ...(volume?.mounted.keys() ?? [])]
      return paths.filter((path) => path.includes(`/${node}/`))
    },
    async crash(forMs) {
      await driver.crash()
      await clock.sleep(forMs)
      await driver.restart()
    },
    calm: () => driver.restart(),
    left: async () => driver.volumes.all.map(({ id }) => `volume ${id} is left at the driver`),
  }
}
