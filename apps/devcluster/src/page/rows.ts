import { Quantity } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'

/** How a volume stands with one node. */
export type CellState = 'attaching' | 'attached' | 'mounted' | 'detaching' | 'failing'

/** How a volume stands as a whole. */
export type RowState = 'pending' | 'bound' | 'expanding' | 'lost' | 'available' | 'released' | 'failed'

/** One line of the page: a claim with its volume, or a volume without a claim. */
export interface Row {
  readonly id: string
  /** `namespace/name`; empty for a volume without a claim. */
  readonly claim: string
  /** Empty for a claim without a volume. */
  readonly volume: string
  readonly className: string
  readonly state: RowState
  readonly requested: Size
  readonly actual: Size
  /** By node; a node that has nothing of it is left out. */
  readonly cells: Readonly<Record<string, Cell>>
}

export interface Size {
  readonly text: string
  readonly bytes: number
}

export interface Cell {
  readonly state: CellState
  /** The pods of that node that use it. */
  readonly pods: readonly string[]
  readonly error?: string
}

/** All that a line is made of. */
export interface RowParts {
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
  readonly attachments: readonly Attachment[]
  readonly pods: readonly CachedPod[]
}

/** Undefined when neither claim nor volume is there any more. */
export function rowOf(id: string, parts: RowParts): Row | undefined {
  const { claim, volume } = parts
  if (claim === undefined && volume === undefined) return undefined
  const requested = claim?.request ?? volume?.capacity
  const actual = claim === undefined ? volume?.capacity : claim.capacity
  return {
    id,
    claim: claim?.key ?? '',
    volume: volume?.key ?? '',
    className: claim?.currentAttributesClass ?? volume?.attributesClass ?? '',
    state: stateOf(claim, volume),
    requested: sizeOf(requested),
    actual: sizeOf(actual),
    cells: cellsOf(parts),
  }
}

function sizeOf(text: string | undefined): Size {
  return text === undefined ? { text: '', bytes: 0 } : { text, bytes: Number(Quantity.parse(text).bytes()) }
}

function stateOf(claim: Claim | undefined, volume: Volume | undefined): RowState {
  if (claim !== undefined) {
    if (claim.phase === 'Lost') return 'lost'
    if (claim.phase === 'Pending') return 'pending'
    return claim.resizeStatus === undefined ? 'bound' : 'expanding'
  }
  if (volume?.phase === 'Failed') return 'failed'
  return volume?.phase === 'Available' || volume?.phase === 'Pending' ? 'available' : 'released'
}

function cellsOf({ attachments, pods }: RowParts): Readonly<Record<string, Cell>> {
  const cells: Record<string, Cell> = {}
  const running = pods.filter(({ phase }) => phase === 'Running')
  const on = (node: string): readonly string[] =>
    running.filter(({ nodeName }) => nodeName === node).map(({ name }) => name)
  for (const attachment of attachments) {
    const { nodeName, attachError, detachError, attached } = attachment
    const users = on(nodeName)
    const error = attached ? detachError : attachError
    cells[nodeName] = {
      state: cellState(attachment, users.length > 0),
      pods: users,
      ...(error !== undefined && { error }),
    }
  }
  // A driver without attach has pods and no attachment.
  for (const { nodeName } of running) cells[nodeName] ??= { state: 'mounted', pods: on(nodeName) }
  return cells
}

function cellState({ deleting, attached, attachError, detachError }: Attachment, isUsed: boolean): CellState {
  if (deleting) return detachError === undefined ? 'detaching' : 'failing'
  if (!attached) return attachError === undefined ? 'attaching' : 'failing'
  return isUsed ? 'mounted' : 'attached'
}
