import type { Invariant } from '@csi-sidecars/disturb'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import type { BackEnd } from './back-end.ts'
import { type Foreign, holds } from './foreign.ts'

/** The desired state of one VolumeAttachment. */
export interface Slot {
  readonly index: number
  readonly node: number
  isDesired: boolean
  /** True if a person has removed the attacher's finalizer, or the whole object, by hand. */
  finalizerRemoved: boolean
  /** True if the finalizer was missing when a process ended. The next process cannot know that it was there before. */
  forgotten: boolean
}

/**
 * The actual attachments at one moment, and the state that users want. The `may...` functions report permitted
 * deviations.
 */
export interface AttachmentState {
  readonly backEnd: BackEnd
  readonly slots: ReadonlyMap<string, Slot>
  readonly attachments: ReadonlyMap<string, VolumeAttachment>
  readonly volumes: ReadonlyMap<string, PersistentVolume>
  readonly foreign: Foreign
  readonly finalizer: string
  readonly handleOf: (index: number) => string
  readonly pairOf: (slot: Slot) => string
  readonly volumeName: (index: number) => string
  readonly mayStay: (pair: string) => boolean
  readonly mayLackFinalizer: (index: number) => boolean
  readonly mayHaveOtherContext: (pair: string) => boolean
}

type Found = ReturnType<Invariant<AttachmentState>['broken']>[number]

/** The rules that attachments must satisfy after a period without changes and failures. */
export const INVARIANTS: readonly Invariant<AttachmentState>[] = [
  {
    name: 'an attachment that a user wants is attached',
    broken: (state) =>
      ofWanted(state, (each) => (each === undefined ? 'is not there' : each.status?.attached === true || 'is not')),
  },
  {
    name: 'an attached volume is published, with the stored context',
    broken: (state) =>
      ofWanted(state, (each, slot) => {
        const context = state.backEnd.published.get(state.pairOf(slot))
        if (context === undefined) return `${state.pairOf(slot)} is not published`
        if (state.mayHaveOtherContext(state.pairOf(slot))) return true
        return same(each?.status?.attachmentMetadata, context) || `has not the context ${JSON.stringify(context)}`
      }),
  },
  {
    name: 'an attached volume has no error',
    broken: (state) =>
      ofWanted(state, (each) => {
        const { attachError, detachError } = each?.status ?? {}
        return (attachError === undefined && detachError === undefined) || 'has an error'
      }),
  },
  {
    name: 'an attached volume is protected by finalizers',
    broken: (state) =>
      ofWanted(state, (each, slot) => {
        if (each !== undefined && !slot.forgotten && !holds(each, state.finalizer))
          return 'has no finalizer of the attacher'
        const volume = state.volumes.get(state.volumeName(slot.index))
        const lacks = volume !== undefined && !state.mayLackFinalizer(slot.index) && !holds(volume, state.finalizer)
        return !lacks || `${state.volumeName(slot.index)} has no finalizer of the attacher`
      }),
  },
  {
    name: 'no volume is published without an attachment',
    broken: (state) => {
      const desiredPairs = new Set([...state.slots.values()].filter((slot) => slot.isDesired).map(state.pairOf))
      return [...state.backEnd.published.keys()]
        .filter((pair) => !desiredPairs.has(pair) && !state.mayStay(pair))
        .map((pair) => ({ subject: pair.split(' ')[0] ?? '', text: pair }))
    },
  },
  {
    name: 'a deleted attachment is released',
    broken: (state) =>
      [...state.attachments].flatMap(([name, each]): readonly Found[] => {
        const slot = state.slots.get(name)
        if (slot?.isDesired === true || !holds(each, state.finalizer)) return []
        return [found(state, slot, `${name} keeps the finalizer: ${JSON.stringify(each)}`)]
      }),
  },
  {
    name: 'a deleted volume without attachments is released',
    broken: (state) =>
      [...state.volumes].flatMap(([name, each]) => {
        const isUsed = [...state.attachments.values()].some(({ spec }) => spec.source.persistentVolumeName === name)
        return each.metadata?.deletionTimestamp !== undefined && !isUsed && holds(each, state.finalizer) ? [name] : []
      }),
  },
  {
    name: 'what others wrote stays',
    broken: (state) =>
      [...state.attachments, ...state.volumes].flatMap(([name, each]) =>
        state.foreign.troubles(each, [state.finalizer]).map((text) => `${name} ${text}`),
      ),
  },
]

/** Applies a check to all desired attachments. The check returns true or the text of the violation. */
function ofWanted(
  state: AttachmentState,
  check: (each: VolumeAttachment | undefined, slot: Slot) => string | true,
): readonly Found[] {
  return [...state.slots].flatMap(([name, slot]): readonly Found[] => {
    if (!slot.isDesired) return []
    const each = state.attachments.get(name)
    const answer = check(each, slot)
    return answer === true ? [] : [found(state, slot, `${name} ${answer}: ${JSON.stringify(each)}`)]
  })
}

function found(state: AttachmentState, slot: Slot | undefined, text: string): Found {
  return slot === undefined ? text : { text, subject: state.handleOf(slot.index) }
}

function same(one: Readonly<Record<string, string>> | undefined, other: Readonly<Record<string, string>>): boolean {
  const sorted = (each: object): string => JSON.stringify(Object.entries(each).sort())
  return sorted(one ?? {}) === sorted(other)
}
