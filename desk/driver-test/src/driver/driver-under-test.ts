import { type Clock, isAbort } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { CallFault, ChooseFault, ProxiedCall } from '@csi-sidecars/disturb'
import { LATE_METHOD } from '../chaos/call-faults.ts'
import type { ChaosDriver } from '../chaos/run.ts'
import type { Checker } from '../checks/checker.ts'
import { certain, text } from '../checks/tracker.ts'
import type { ClusterRules } from './cluster-rules.ts'
import type { OwnDriverProcess } from './driver-process.ts'
import { canList, WatchedList, waitUntilEmpty } from './lists.ts'
import type { OwnNodes } from './nodes.ts'
import { UsageLooks } from './stats.ts'

/** The connections, nodes and checks of a driver under test. */
export interface DriverUnderTestParts {
  /** A connection to the driver without the proxy. */
  readonly direct: Driver
  readonly nodes: OwnNodes
  readonly mountsBelow: (folder: string) => Promise<readonly string[]>
  readonly inlineAttributes: Readonly<Record<string, string>>
  readonly checker: Checker
  /** The checks of the calls that the cluster sends. */
  readonly rules: ClusterRules
  readonly clock: Clock
  /** The process of the driver, if the test has started it. */
  readonly ownProcess: Pick<OwnDriverProcess, 'kill' | 'killAll'> | undefined
}

/** The largest number of faults that wait for calls of one method. */
const MAX_WAITING = 8
/** The pause between two ListVolumes calls. */
const POLL_MS = 1_000
/** The time between the answer of a call and the kill. It is long enough for the caller to get the answer. */
const KILL_MS = 20
/** The pause between ListVolumes calls after a kill. They find lost volumes before the sidecars repeat their calls. */
const SOON_MS = 500
const SOON_LOOKS = 4
/** The number of ListVolumes calls after everything has converged. */
const LAST_LOOKS = 3

/** The driver under test behind its proxy. This class injects faults and passes the calls to the checks. */
export class DriverUnderTest implements ChaosDriver {
  readonly name: string
  readonly inlineAttributes: Readonly<Record<string, string>>
  readonly crash?: (forMs: number) => Promise<void>
  readonly #deps: DriverUnderTestParts
  readonly #faults = new Map<string, CallFault[]>()
  readonly #listeners = new Set<(call: ProxiedCall) => void>()
  readonly #usage: UsageLooks
  readonly #lists: readonly WatchedList[]
  #soonLooks = 0
  #calm = false

  constructor(deps: DriverUnderTestParts) {
    const { direct, ownProcess, checker, nodes } = deps
    this.#deps = deps
    this.#usage = new UsageLooks(checker.tracker, nodes)
    this.#lists = [checker.tracker, checker.snapshots].map((tracker) => new WatchedList(direct, checker, tracker))
    this.name = direct.name
    this.inlineAttributes = deps.inlineAttributes
    // `crash` only kills the driver, because `OwnDriverProcess` starts it again after a back-off.
    if (ownProcess !== undefined) this.crash = async () => ownProcess.kill()
  }

  /** Chooses the fault of a call for the proxy. */
  readonly choose: ChooseFault = ({ method }) => this.#faults.get(method)?.shift()

  /**
   * The proxy calls this function at the start and at the end of each CSI call. Listeners get a start before the
   * checker gets it, and an end after the checker has got it.
   */
  readonly report = (call: ProxiedCall): void => {
    this.#deps.rules.see(call)
    if (call.end !== undefined) this.#deps.checker.see(call)
    for (const listener of this.#listeners) listener(call)
    if (call.end === undefined) this.#deps.checker.see(call)
    else if (call.fault === 'kill' && !this.#calm) this.#killAfter(call)
  }

  /** Kills the driver shortly after a successful call. After a failed call it plans the kill for the next call. */
  #killAfter({ code, method }: ProxiedCall): void {
    if (code !== 0) return this.breakCall(method, { kind: 'kill' })
    this.#deps.clock.schedule(KILL_MS, () => {
      if (this.#calm) return
      this.#deps.ownProcess?.killAll()
      this.#soonLooks = SOON_LOOKS
    })
  }

  /** Reports whether the proxy may repeat a detach late. False if the volume is gone, attached again, or busy. */
  readonly mayComeAgain = ({ method, request }: Pick<ProxiedCall, 'method' | 'request'>): boolean => {
    const volume = this.#deps.checker.tracker.get(text(request['volumeId']))
    const node = text(request['nodeId'])
    return method === LATE_METHOD && volume?.exists === 'yes' && volume.busy === 0 && !volume.nodes.has(node)
  }

  watchCalls(listener: (call: ProxiedCall) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  publishedTo(volumeId: string): readonly string[] {
    return certain(this.#deps.checker.tracker.get(volumeId)?.nodes ?? new Map())
  }

  /** Returns the staged and published paths. Empty if the node service is emulated: it is called without the proxy. */
  mountedOn(nodeId: string, volumeId: string): readonly string[] {
    const { checker, nodes } = this.#deps
    const volume = checker.tracker.get(volumeId)
    const paths = volume === undefined ? [] : [...certain(volume.staged), ...certain(volume.published)]
    return paths.filter((path) => nodes.at(path)?.info.nodeId === nodeId)
  }

  breakCall(method: string, fault: CallFault): void {
    const waiting = this.#faults.get(method) ?? []
    if (waiting.length < MAX_WAITING) this.#faults.set(method, [...waiting, fault])
  }

  async calm(): Promise<void> {
    this.#calm = true
    this.#faults.clear()
  }

  async begin(signal: AbortSignal): Promise<void> {
    for (const list of this.#lists) await list.begin(signal)
  }

  /** Calls ListVolumes, ListSnapshots and NodeGetVolumeStats periodically until the signal is aborted. */
  async watchList(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#deps.clock.sleep(this.#soonLooks > 0 ? SOON_MS : POLL_MS, signal)
        this.#soonLooks = Math.max(0, this.#soonLooks - 1)
        for (const list of this.#lists) await list.check(signal)
        for (const broken of await this.#usage.check(signal)) this.#deps.checker.report(broken)
      }
    } catch (error) {
      if (!isAbort(error) || !signal.aborted) throw error
    }
  }

  async inspect(signal: AbortSignal): Promise<void> {
    if (canList(this.#deps.direct)) await this.#deps.clock.sleep(LAST_LOOKS * POLL_MS, signal)
  }

  async left(signal: AbortSignal): Promise<readonly string[]> {
    const left: string[] = []
    for (const list of this.#lists) left.push(...(await list.left(this.#deps.clock, signal)))
    return [...left, ...(await this.#leftMounts(signal))]
  }

  /** Returns the mounts that remain after some time. The time is needed, because a deletion may precede the unstage. */
  async #leftMounts(signal: AbortSignal): Promise<readonly string[]> {
    const { nodes, mountsBelow, clock } = this.#deps
    const mounted = await waitUntilEmpty(() => mountsBelow(nodes.folder), clock, signal)
    return (mounted ?? []).map((path) => `${nodes.shortened(path)} is still mounted`)
  }
}
