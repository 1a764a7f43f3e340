import { type Clock, deadline } from '@csi-sidecars/base'
import { until } from '@csi-sidecars/disturb'
import { isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PODS, VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import { except, PODS_BY_CLAIM, VOLUMES_BY_CLAIM } from '@csi-sidecars/volume-controllers'
import type { Devcluster } from '../cluster/devcluster.ts'
import { watchCluster } from './cluster-event.ts'
import { CLAIM, COPIES, NAMES } from './objects.ts'
import { type Ending, type Printer, runSteps, type StoryStep } from './run-steps.ts'
import { type LeftOut, STORY_PODS, storyOf } from './story.ts'

/** The options of the demo, and the parts of the cluster that it acts on. */
export interface ScenarioOptions {
  readonly cluster: Pick<Devcluster, 'client' | 'caches' | 'driver' | 'connection' | 'calls' | 'nodeNames'>
  readonly clock: Clock
  /** The time limit of one step. */
  readonly stepMs: number
  readonly pauseMs: number
  /** True if a claim and its pod stay after the last step. */
  readonly leavesPod?: boolean
}

/** The demo in one cluster. It can run completely or up to a step, any number of times. */
export class StoryScenario {
  readonly #options: ScenarioOptions
  readonly #printers: Printer[] = []
  readonly steps: readonly StoryStep[]
  readonly leftOut: readonly LeftOut[]
  /** The number of finished steps. */
  #done = 0
  #isRunning = false

  constructor(options: ScenarioOptions) {
    this.#options = options
    const { steps, leftOut } = storyOf(options.cluster, {
      nodes: options.cluster.nodeNames,
      leavesPod: options.leavesPod === true,
    })
    this.steps = steps
    this.leftOut = leftOut
  }

  addPrinter(printer: Printer): void {
    this.#printers.push(printer)
  }

  async runAll(signal: AbortSignal): Promise<Ending> {
    this.check(1)
    return await this.#alone(() => this.#runSteps(this.steps.length, signal))
  }

  /** Throws if the step cannot run now. */
  check(step: number): void {
    if (!(step >= 1 && step <= this.steps.length)) throw new Error(`There is no step ${step}.`)
    if (this.#isRunning) throw new Error('The story is running.')
  }

  /** Runs the remaining steps up to the given step. If that step has run before, the demo starts again. */
  async runTo(step: number, signal: AbortSignal): Promise<Ending> {
    this.check(step)
    return await this.#alone(async () => {
      if (step <= this.#done) {
        await this.#clear(signal)
        this.#done = 0
      }
      return await this.#runSteps(step, signal)
    })
  }

  async #alone(work: () => Promise<Ending>): Promise<Ending> {
    this.#isRunning = true
    try {
      return await work()
    } finally {
      this.#isRunning = false
    }
  }

  async #runSteps(last: number, signal: AbortSignal): Promise<Ending> {
    const { cluster, clock, stepMs, pauseMs } = this.#options
    const { caches, calls } = cluster
    const steps = this.steps.slice(this.#done, last)
    const firstNumber = this.#done + 1
    const watch = (listener: Parameters<typeof watchCluster>[2]) => watchCluster(caches, calls, listener)
    // All steps count as done until the run succeeds. After a failure, the next run therefore begins at step 1.
    this.#done = this.steps.length
    const ending = await runSteps({ steps, firstNumber, printer: this.#all(), clock, watch, stepMs, pauseMs }, signal)
    if (ending.kind === 'succeeded') this.#done = last
    return ending
  }

  #all(): Printer {
    const printers = this.#printers
    return {
      step: (number, title) => printers.forEach((each) => void each.step(number, title)),
      line: (line, afterMs) => printers.forEach((each) => void each.line(line, afterMs)),
      ended: (number, failure) => printers.forEach((each) => void each.ended(number, failure)),
    }
  }

  /** Deletes the objects of an earlier run. */
  async #clear(signal: AbortSignal): Promise<void> {
    const { cluster, clock, stepMs } = this.#options
    const { client, caches } = cluster
    using limit = deadline(clock, stepMs, { operation: 'cleaning up after the story', signal })
    const limits = { signal: limit.signal }
    const { namespace, claim, snapshot } = NAMES
    // Pods that a user has created for the claim are deleted too, because they would block its deletion.
    const users = caches.pods.store.byIndex(PODS_BY_CLAIM, CLAIM).map(({ name }) => name)
    for (const name of new Set([...STORY_PODS, ...users]))
      await except(isNotFound, client.delete(PODS, { namespace, name }, limits))
    const claims = [claim, ...Object.keys(COPIES)]
    for (const name of claims)
      await except(isNotFound, client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, limits))
    if (caches.snapshotCaches !== undefined)
      await except(isNotFound, client.delete(VOLUME_SNAPSHOTS, { namespace, name: snapshot }, limits))
    const keys = claims.map((name) => `${namespace}/${name}`)
    const isCleared = (): boolean =>
      caches.snapshotCaches?.snapshots.store.get(`${namespace}/${snapshot}`) === undefined &&
      caches.pods.store.byIndex(PODS_BY_CLAIM, CLAIM).length === 0 &&
      keys.every(
        (key) =>
          caches.claims.store.get(key) === undefined &&
          caches.volumes.store.byIndex(VOLUMES_BY_CLAIM, key).length === 0,
      )
    await until(isCleared, (check) => watchCluster(caches, cluster.calls, check), limit.signal)
  }
}
