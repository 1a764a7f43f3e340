import type { Cancel, Clock } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { LiveCall, LiveCalls } from '@csi-sidecars/disturb'
import { createInformer, type Informer, type InformerEvent } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Caches } from '@csi-sidecars/volume-controllers'
import { type ObjectEvent, watchCluster } from '../../story/cluster-event.ts'
import type { Beginning, ClaimRow, Frame, Item, LastCall, LastEvent, TimelineEntry } from '../view/wire.ts'
import { ActorRegistry } from './actor-registry.ts'
import { actorOfComponent, callerOf, kubeletOf } from './actors.ts'
import { type CachedEvent, eventLine, eventProjection, lastEvent } from './api-event.ts'
import { Board } from './board.ts'
import { CallLog } from './call-log.ts'
import { callLine, lastCall } from './call-text.ts'
import { objectLine } from './object-lines.ts'
import { allRows, observe, pendingClaimRows } from './observe.ts'
import { rowOf } from './rows.ts'
import { Handles, nodeOfEvent, rowsOfCall, rowsOfEvent, rowsOfObjectEvent } from './rows-of.ts'

/** The cluster that the model of the page observes, and the function that sends its frames. */
export interface ModelOptions {
  readonly caches: Caches
  readonly client: KubeClient
  readonly driver: Driver
  readonly nodeNames: readonly string[]
  readonly liveCalls: LiveCalls
  readonly clock: Clock
  readonly log: Logger
  readonly send: (frame: Frame) => void
}

/** The number of rows up to which every change is sent at once. With more rows no user could follow the changes. */
const MAX_ROWS_CLOSELY = 100
const GATHER_MS = 100

/**
 * The page's view of the cluster, kept up to date from caches, events and CSI calls. Sends each change in a frame. If
 * the page has many rows, the changed items are sent in batches, which costs less CPU time.
 */
export class PageModel {
  readonly #options: ModelOptions
  readonly #board: Board
  readonly #actors: ActorRegistry
  readonly #calls = new CallLog()
  readonly #warnings = new Warnings()
  readonly #rows = new Map<string, ClaimRow>()
  readonly #handles = new Handles()
  readonly #begun = new Map<number, { readonly who: string; readonly at: number }>()
  readonly #events: Informer<CachedEvent, Event>
  readonly #isNode: (name: string) => boolean
  /** The changed rows and actors, and the last events and calls. They are recomputed when the next frame is sent. */
  readonly #dirtyRows = new Set<string>()
  readonly #dirtyActors = new Set<string>()
  readonly #lasts = new Map<string, () => LastEvent | LastCall>()
  #gathering: Cancel | undefined
  /** One timer for each row of the page. It fires when something that the row waits for counts as stuck. */
  readonly #timers = new Map<string, Cancel>()

  constructor(options: ModelOptions) {
    const { clock, send, nodeNames, client, log } = options
    this.#options = options
    this.#board = new Board(clock, send)
    this.#actors = new ActorRegistry(nodeNames)
    this.#isNode = (name) => options.caches.nodes.store.get(name) !== undefined
    this.#events = createInformer({ client, clock, log, resource: EVENTS, project: eventProjection, resyncMs: 0 })
  }

  get beginning(): Beginning {
    return this.#board.beginning
  }

  /** Shows an entry of the time line and items that come from this program itself, such as the steps of the demo. */
  say(line: TimelineEntry | undefined, ...items: readonly Item[]): void {
    for (const item of items) this.#board.send(item)
    if (line !== undefined) this.#says(line)
    this.#flush(line)
  }

  /** Keeps the model up to date until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, driver, liveCalls } = this.#options
    const noCalls = (): (() => void) => () => undefined
    const undo = [
      watchCluster(caches, noCalls, (event) => event.kind !== 'call' && this.#happen(event)),
      liveCalls((call) => this.#call(call)),
      driver.subscribe(() => {
        this.#driver()
        this.#flush()
      }),
      caches.classes.subscribe(() => this.#updateRows(pendingClaimRows(caches))),
      caches.drivers.subscribe(() => this.#updateRows(allRows(caches))),
      this.#events.subscribe((event) => this.#event(event)),
    ]
    for (const { key } of caches.nodes.store.values()) this.#node(key)
    for (const id of this.#actors.ids) this.#dirtyActors.add(id)
    for (const id of allRows(caches)) this.#dirtyRows.add(id)
    this.#flush()
    try {
      await this.#events.run(signal)
    } finally {
      for (const each of [...undo, ...this.#timers.values()]) each()
      this.#gathering?.()
    }
  }

  #happen(event: ObjectEvent): void {
    const { caches } = this.#options
    const rows = rowsOfObjectEvent(event, caches)
    const key = (event.after ?? event.before)?.key ?? ''
    if (event.kind === 'pod' && event.after?.phase !== 'Pending') this.#warnings.forget(key)
    if (event.kind === 'node') this.#node(key)
    const line = objectLine(event)
    this.#updateRows(rows, line && { ...line, who: this.#whichKubelet(line.who, rows), ...rowOfLine(rows) })
  }

  /** Returns the ID of the acting component. For a kubelet, the ID contains the node of the running pod. */
  #whichKubelet(who: string, rows: readonly string[]): string {
    if (who !== 'kubelet') return who
    const users = rows.flatMap((id) => this.#rows.get(id)?.pods ?? [])
    return kubeletOf(users.find(({ phase }) => phase === 'Running')?.node ?? '')
  }

  #call(call: LiveCall): void {
    const { clock, caches, driver } = this.#options
    const who = callerOf(call, this.#isNode)
    if (who === undefined) return
    const begun = this.#begun.get(call.id) ?? { who, at: clock.now() }
    const rows = rowsOfCall(call, { caches, driver: driver.name, handles: this.#handles })
    if (call.end === undefined) this.#begun.set(call.id, begun)
    else {
      this.#begun.delete(call.id)
      this.#calls.end(call, who)
    }
    this.#actors.calls(who, call.end === undefined ? 1 : -1)
    for (const of of [...rows, who]) this.#lasts.set(`call/${of}`, () => lastCall(of, call, begun))
    this.#dirtyActors.add(who)
    if (call.end !== undefined) this.#driver()
    const line = callLine(call, who)
    this.#updateRows(rows, line && { ...line, ...rowOfLine(rows) })
  }

  #event(event: InformerEvent<CachedEvent>): void {
    if (event.type === 'deleted') return
    const { caches, driver, clock } = this.#options
    const of = event.type === 'updated' ? event.after : event.object
    const rows = rowsOfEvent(of, caches)
    const who = actorOfComponent(of.component, { driver: driver.name, node: nodeOfEvent(of, caches) })
    if (caches.pods.store.get(of.subject) !== undefined) this.#warnings.record(of)
    const at = of.at ?? clock.now()
    for (const each of [...rows, who]) this.#lasts.set(`event/${each}`, () => lastEvent(each, of, at))
    this.#updateRows(rows, { ...eventLine(of, who), ...rowOfLine(rows) })
  }

  /** Updates the state of the actor `driver` from its connection and from its failing calls. */
  #driver(): void {
    const { driver } = this.#options
    const failures = this.#calls.summary()
    const text = failures.map(({ failure: { method, code, message }, volumes }) => {
      const suffix = message === '' ? '' : `: ${message}`
      return `${method} fails with ${code}${suffix} (${volumes} volume${volumes === 1 ? '' : 's'})`
    })
    if (driver.state !== 'ready')
      this.#actors.because('driver', { away: true, text: 'it does not answer; it is tried again' })
    else this.#actors.because('driver', text.length === 0 ? undefined : { away: false, text: text.join('; ') })
    this.#dirtyActors.add('driver')
  }

  #node(key: string): void {
    const node = this.#options.caches.nodes.store.get(key)
    const id = `node/${key}`
    if (node === undefined) this.#board.remove(id)
    else this.#board.send({ kind: 'node', id, name: key, ready: node.ready, schedulable: !node.unschedulable })
  }

  /** Sends the line for the time line at once. Recomputes the rows at once or, with many rows, after `GATHER_MS`. */
  #updateRows(rows: Iterable<string>, line?: TimelineEntry): void {
    for (const id of rows) this.#dirtyRows.add(id)
    if (line !== undefined) this.#says(line)
    if (this.#rows.size <= MAX_ROWS_CLOSELY) return this.#flush(line)
    this.#board.line(line)
    this.#gathering ??= this.#options.clock.schedule(GATHER_MS, () => this.#flush())
  }

  #says(line: TimelineEntry): void {
    this.#actors.says(line.who, { at: this.#options.clock.now(), text: line.text, ...(line.bad && { bad: true }) })
    this.#dirtyActors.add(line.who)
  }

  /** Recomputes all changed items and sends them in one frame. */
  #flush(line?: TimelineEntry): void {
    this.#gathering?.()
    this.#gathering = undefined
    for (const id of this.#dirtyRows) {
      for (const who of this.#row(id)) this.#dirtyActors.add(who)
    }
    for (const last of this.#lasts.values()) this.#putLast(last())
    for (const who of this.#dirtyActors) this.#board.send(this.#actors.actor(who))
    this.#dirtyRows.clear()
    this.#dirtyActors.clear()
    this.#lasts.clear()
    this.#board.frame(line)
  }

  /** Shows the last event or call unless its row or actor is gone. */
  #putLast(last: LastEvent | LastCall): void {
    if (this.#rows.has(last.of) || this.#actors.has(last.of)) this.#board.send(last)
  }

  /** Sets the time after which a row is recomputed. Infinity: never. */
  #lookAgain(id: string, inMs: number): void {
    this.#timers.get(id)?.()
    this.#timers.delete(id)
    if (Number.isFinite(inMs))
      this.#timers.set(
        id,
        this.#options.clock.schedule(inMs, () => this.#updateRows([id])),
      )
  }

  /** Recomputes a row of the page. Returns the IDs of the actors that appear in its old or new waits. */
  #row(id: string): readonly string[] {
    const { caches, clock } = this.#options
    const before = this.#rows.get(id)
    const seen = observe(id, caches)
    const handle =
      seen.volume?.csi?.volumeHandle ?? (seen.claim && `pvc-${seen.claim.uid}`) ?? this.#handles.of(id) ?? ''
    const view = {
      ...seen,
      failure: (who: string, ...methods: readonly string[]) => this.#calls.failure(handle, who, methods),
      warning: (pod: string, ...reasons: readonly string[]) => this.#warnings.of(pod, reasons),
    }
    const now = clock.now()
    const timesToCheck: number[] = []
    const row = rowOf(id, view, { before, now, onWait: (at) => at > now && timesToCheck.push(at) })
    this.#lookAgain(id, Math.min(...timesToCheck) - now)
    const touched = this.#actors.waits(before?.waits ?? [], row?.waits ?? [])
    if (row !== undefined) {
      this.#rows.set(id, row)
      this.#handles.set(id, handle)
      this.#board.send(row)
      return touched
    }
    if (!this.#rows.delete(id)) return touched
    this.#handles.delete(id)
    // The failures of a released volume are kept, because the volume gets a separate row that shows them.
    if (seen.volume === undefined) this.#calls.forget(handle)
    for (const each of [id, `call/${id}`, `event/${id}`]) this.#board.remove(each)
    this.#driver()
    return touched
  }
}

function rowOfLine(rows: readonly string[]): { readonly row?: string } {
  const [row] = rows
  return row === undefined ? {} : { row }
}

/** The last warnings about each pod that does not run yet, one for each event reason. */
export class Warnings {
  readonly #ofPods = new Map<string, Map<string, string>>()

  record({ kind, subject, isWarning, reason, message }: CachedEvent): void {
    if (kind !== 'Pod' || !isWarning) return
    const warnings = this.#ofPods.get(subject) ?? new Map<string, string>()
    warnings.set(reason, message)
    this.#ofPods.set(subject, warnings)
  }

  of(pod: string, reasons: readonly string[]): string | undefined {
    const warnings = this.#ofPods.get(pod)
    return reasons.map((reason) => warnings?.get(reason)).find((message) => message !== undefined)
  }

  forget(pod: string): void {
    this.#ofPods.delete(pod)
  }
}
