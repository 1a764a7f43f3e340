import { type Patch, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { applyPatch } from '@csi-sidecars/testkit'
import { attachmentProjection, type CachedAttachment, NODE_ID_ANNOTATION } from '../../caches/attachment.ts'
import { DRIVER, FINALIZER } from '../views.ts'

/**
 * A VolumeAttachment as a text of letters: Z: it is being deleted; O: a foreign finalizer; F: our finalizer; N: the
 * node ID; A: attached; M: metadata; X: `attachError`; D: `detachError`. Null: it does not exist.
 */
export type Letters = string

const LETTERS = 'ZOFNAMXD'
const FOREIGN_FINALIZER = 'example.com/other'
export const CONTEXT = { device: '/dev/x' }
const ERROR = { message: 'no', time: '2026-01-01T00:00:00Z' }

export function has(letters: Letters | null, letter: string): boolean {
  return letters?.includes(letter) === true
}

/** Returns the letters for which `isSet` is true, in a fixed order, so that equal objects have equal texts. */
export function lettersOf(isSet: (letter: string) => boolean): Letters {
  return [...LETTERS].filter(isSet).join('')
}

export function without(letters: Letters, letter: string): Letters {
  return letters.replace(letter, '')
}

export function withLetter(letters: Letters, letter: string): Letters {
  return lettersOf((each) => each === letter || has(letters, each))
}

const project = attachmentProjection(DRIVER)
const projected = new Map<Letters, CachedAttachment>()

/** Returns a cached VolumeAttachment in the state that the letters encode. */
export function attachmentOf(letters: Letters): CachedAttachment {
  const remembered = projected.get(letters) ?? project(wireOf(letters))
  projected.set(letters, remembered)
  return remembered
}

const patched = new WeakMap<Patch, Map<Letters, Letters | 'refused'>>()

/** Returns the attachment after a patch, as letters. `refused`: a `test` operation of the patch fails. */
export function patchedLetters(letters: Letters, patch: Patch): Letters | 'refused' {
  const results = patched.get(patch) ?? new Map<Letters, Letters | 'refused'>()
  patched.set(patch, results)
  const remembered = results.get(letters) ?? apply(letters, patch)
  results.set(letters, remembered)
  return remembered
}

function apply(letters: Letters, patch: Patch): Letters | 'refused' {
  const errorOf = (): Error => new Error('refused')
  try {
    return lettersOfWire(applyPatch(wireOf(letters), patch, { resource: VOLUME_ATTACHMENTS, errorOf }))
  } catch {
    return 'refused'
  }
}

function wireOf(letters: Letters): VolumeAttachment {
  const finalizers = [has(letters, 'O') && FOREIGN_FINALIZER, has(letters, 'F') && FINALIZER].filter((name) => !!name)
  return {
    metadata: {
      name: 'va1',
      uid: 'va1-uid',
      resourceVersion: '1',
      ...(has(letters, 'Z') && { deletionTimestamp: ERROR.time }),
      ...(has(letters, 'N') && { annotations: { [NODE_ID_ANNOTATION]: 'node1-id' } }),
      ...(finalizers.length > 0 && { finalizers: finalizers as string[] }),
    },
    spec: { attacher: DRIVER, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
    status: {
      attached: has(letters, 'A'),
      ...(has(letters, 'M') && { attachmentMetadata: CONTEXT }),
      ...(has(letters, 'X') && { attachError: ERROR }),
      ...(has(letters, 'D') && { detachError: ERROR }),
    },
  }
}

function lettersOfWire({ metadata, status }: VolumeAttachment): Letters {
  const isSet: Readonly<Record<string, boolean>> = {
    Z: metadata?.deletionTimestamp != null,
    O: metadata?.finalizers?.includes(FOREIGN_FINALIZER) === true,
    F: metadata?.finalizers?.includes(FINALIZER) === true,
    N: metadata?.annotations?.[NODE_ID_ANNOTATION] !== undefined,
    A: status?.attached === true,
    M: status?.attachmentMetadata != null && Object.keys(status.attachmentMetadata).length > 0,
    X: status?.attachError != null,
    D: status?.detachError != null,
  }
  return lettersOf((letter) => isSet[letter] === true)
}
