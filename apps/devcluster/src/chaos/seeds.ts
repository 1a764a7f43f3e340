import { join } from 'node:path'
import type { Clock } from '@csi-sidecars/base'
import type { CsiDriver } from '@csi-sidecars/emulator'
import { type Devcluster, type DevclusterOptions, startDevcluster } from '../cluster/devcluster.ts'
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
export async function runSeeds(options: SeedsOptions, signal: AbortSignal): Promise<boolean> {
  const { durationMs, write } = options
  let allGood = true
  for (const seed of options.seeds) {
    // Every third seed disturbs the controllers only, and is then held to doing nothing twice.
    const profile = seed % 3 === 0 ? 'restarts' : 'all'
    write(`seed ${seed} (${profile}) for ${durationMs / 1000} s\n`)
    const result = await runSeed({ seed, profile }, options, signal)
    const violations = violationsOf(result)
    write(`  ${result.actions} actions, ${verdict(violations)}\n`)
    for (const violation of violations) write(`  ${violation}\n`)
    if (violations.length > 0) write(`  again: npm start -- --chaos=${seed} --chaos-seconds=${durationMs / 1000}\n`)
    allGood &&= violations.length === 0
  }
  return allGood
}

function violationsOf({ violations, missing, left }: ChaosResult): readonly string[] {
  return [...violations, ...missing.map(({ text }) => text), ...left]
}

function verdict(violations: readonly string[]): string {
  if (violations.length === 0) return 'all held'
  return violations.length === 1 ? '1 violation' : `${violations.length} violations`
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
    shown?.end(violationsOf(result))
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
