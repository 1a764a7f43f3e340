/** The messages from the cluster to the page: items by ID, and frames that replace whole items. */

/** `works`: a component acts now. `waits`: something else must happen first. `trouble`: it fails or is blocked. */
export type Level = 'works' | 'waits' | 'trouble'

/** One wait of a row: the waiting object, the component that must act next, and the reason. */
export interface Wait {
  /** The ID of the actor that must act next. */
  readonly who: string
  readonly level: Level
  /** The waiting object: `pod app`, `claim data`. */
  readonly object: string
  readonly why: string
  /** The message of Kubernetes or of the driver. */
  readonly message?: string
  /** The start of the wait in milliseconds since 1970. */
  readonly since: number
  /** True if the wait takes too long, or if no retry helps. */
  readonly stuck: boolean
}

/** A text of Kubernetes, of the driver or of a component, with its time. */
export interface Message {
  /** The time of the text in milliseconds since 1970. */
  readonly at: number
  readonly text: string
  readonly bad?: boolean
}

/** A size as users write it and in bytes. */
export interface ClaimSize {
  readonly text: string
  readonly bytes: number
}

/** A claim as the page shows it. */
export interface WantedClaim {
  readonly key: string
  readonly phase: string
  readonly size: ClaimSize
  /** The requested StorageClass. Undefined if the claim names none and takes the default. */
  readonly className?: string
  readonly attributesClass: string
  readonly deleting: boolean
}

/** A pod as the page shows it. */
export interface WantedPod {
  readonly key: string
  /** The node of the pod. Empty while the pod is not scheduled. */
  readonly node: string
  readonly phase: string
  readonly deleting: boolean
}

/** A PersistentVolume as the page shows it. */
export interface ShownVolume {
  readonly name: string
  readonly phase: string
  /** The size that a pod can use. */
  readonly size: ClaimSize
  /** The size of the volume. Its file system may be smaller. */
  readonly capacity: string
  readonly attributesClass: string
}

export type PlaceState = 'attaching' | 'attached' | 'mounted' | 'detaching' | 'failing'

/** The state of a volume on one node. */
export interface NodePlace {
  readonly node: string
  readonly state: PlaceState
  /** The names of the running pods on that node that use the volume. */
  readonly pods: readonly string[]
  readonly error?: string
}

/** A snapshot of the claim's volume. */
export interface Snapshot {
  readonly name: string
  readonly state: 'taking' | 'ready' | 'deleting' | 'failing'
  /** The size of the snapshot. Empty while it is unknown. */
  readonly size: string
}

/** One row of the table: a claim with its volume and its pods, or a volume without a claim, or a pod without claims. */
export interface ClaimRow {
  readonly kind: 'row'
  readonly id: string
  readonly name: string
  readonly claim?: WantedClaim
  readonly pods: readonly WantedPod[]
  readonly volume?: ShownVolume
  readonly places: readonly NodePlace[]
  readonly snapshots: readonly Snapshot[]
  readonly waits: readonly Wait[]
}

/** The last Event about the objects of a row, or from an actor. `of` is the ID of the row or actor. */
export interface LastEvent {
  readonly kind: 'event'
  readonly id: string
  readonly of: string
  readonly line: Message
  readonly reason: string
  readonly object: string
  readonly count: number
}

/** The last CSI call about the volume of a row, or from an actor. `of` is the ID of the row or actor. */
export interface LastCall {
  readonly kind: 'call'
  readonly id: string
  readonly of: string
  readonly who: string
  readonly method: string
  readonly at: number
  /** The duration of the call. Undefined while the call runs. */
  readonly tookMs?: number
  readonly code?: string
  readonly message?: string
  /** The request as JSON, without secrets. */
  readonly request: string
  readonly response?: string
}

/** A component of the cluster, with its state and its work. */
export interface Actor {
  readonly kind: 'actor'
  readonly id: string
  readonly name: string
  readonly does: string
  /** `away` means that the actor does not answer. */
  readonly state: 'idle' | 'works' | 'fails' | 'away'
  /** The number of running CSI calls of the actor. */
  readonly open: number
  /** The number of waits in which the actor must act next, and the number of failing or stuck waits among them. */
  readonly turns: number
  readonly troubles: number
  /** The reason why the actor itself fails or is away. */
  readonly why?: string
  readonly last?: Message
}

/** A node as the page shows it. */
export interface ClusterNode {
  readonly kind: 'node'
  readonly id: string
  readonly name: string
  readonly ready: boolean
  readonly schedulable: boolean
}

/** One line below a step of the demo: who did what, and when. */
export interface StepLine {
  readonly who: string
  readonly text: string
  readonly afterMs: number
}

/** A step of the demo as the page shows it. */
export interface StepItem {
  readonly kind: 'step'
  readonly id: string
  readonly number: number
  readonly title: string
  readonly state: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped'
  /** The reason why the step has failed or is skipped. */
  readonly why?: string
  readonly lines: readonly StepLine[]
}

/** The actions that the page offers, and the values for their forms. */
export interface PageAbilities {
  readonly kind: 'abilities'
  readonly id: string
  /** The names of the actions that this cluster supports. */
  readonly actions: readonly string[]
  readonly driver: string
  readonly classes: readonly string[]
}

export type Item = ClaimRow | LastEvent | LastCall | Actor | ClusterNode | StepItem | PageAbilities

/** One entry of the time line. */
export interface TimelineEntry {
  /** The ID of the actor that has caused the entry. */
  readonly who: string
  readonly text: string
  readonly bad?: boolean
  /** The ID of the row that the entry is about. */
  readonly row?: string
}

/** The changes of one moment: new and removed items, and the line about the event that has caused them. */
export interface Frame {
  /** The time of the changes in milliseconds since 1970. */
  readonly at: number
  readonly line?: TimelineEntry
  readonly items?: readonly Item[]
  readonly gone?: readonly string[]
}

/** The first message to a page that was just opened: all items of a past moment, and the frames since then. */
export interface Beginning {
  readonly items: readonly Item[]
  readonly frames: readonly Frame[]
}

/** The result of an action, as a sentence. */
export interface ActionAnswer {
  readonly done: boolean
  readonly text: string
  /** The form field that caused the failure. */
  readonly field?: string
}

/** The items that a frame has replaced or removed. Setting them again undoes the frame. */
export type Undo = readonly (readonly [id: string, before: Item | undefined])[]

/** Applies a frame to the items. Returns the replaced items. */
export function apply(items: Map<string, Item>, { items: set = [], gone = [] }: Frame): Undo {
  const undo: [string, Item | undefined][] = []
  for (const item of set) {
    undo.push([item.id, items.get(item.id)])
    items.set(item.id, item)
  }
  for (const id of gone) {
    undo.push([id, items.get(id)])
    items.delete(id)
  }
  return undo
}

export function takeBack(items: Map<string, Item>, undo: Undo): void {
  for (const [id, before] of undo.toReversed()) {
    if (before === undefined) items.delete(id)
    else items.set(id, before)
  }
}

/** The tolerance when the time of an Event is compared. Events have whole seconds and arrive a little late. */
const EVENT_PRECISION_MS = 2000

/** Reports whether an event is still shown. A warning is hidden if it is older than everything that the object waits for. */
export function stillHolds({ line }: LastEvent, waits: readonly Wait[]): boolean {
  if (line.bad !== true) return true
  return waits.some(({ level, since }) => level !== 'works' && since <= line.at + EVENT_PRECISION_MS)
}
