import type { Patch } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { attachment, FINALIZER, withFinalizer } from '../testing/views.ts'
import {
  addFinalizerPatch,
  attachErrorPatch,
  attachedPatch,
  detachErrorPatch,
  detachedPatch,
  removeFinalizerPatch,
  triviallyAttachedPatch,
} from './patches.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const TIME = '2026-01-02T03:04:05Z'
/** Every patch is of the very attachment that the fixtures are. */
const merge = ({ metadata, ...change }: { metadata?: object; status?: object }): Patch => ({
  kind: 'merge',
  body: { metadata: { uid: 'va1-uid', ...metadata }, ...change },
})
const error = (message: string, errorCode?: number): { message: string; time: string; errorCode?: number } => ({
  message,
  time: TIME,
  ...(errorCode !== undefined && { errorCode }),
})

describe('addFinalizerPatch', () => {
  it.each([
    {
      name: 'adds both',
      va: attachment(),
      body: { metadata: { annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' }, finalizers: [FINALIZER] } },
    },
    {
      name: 'adds only the finalizer, behind foreign ones',
      va: attachment({ nodeId: 'n', finalizers: ['b/b', 'a/a'] }),
      body: { metadata: { finalizers: ['b/b', 'a/a', FINALIZER] } },
    },
    {
      name: 'overwrites a wrong node id',
      va: withFinalizer({ nodeId: 'wrong' }),
      body: { metadata: { annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } } },
    },
  ])('$name', ({ va, body }) => {
    expect(addFinalizerPatch(va, { nodeId: 'n', finalizer: FINALIZER })).toEqual(merge(body))
  })

  it('is none when both are there', () => {
    expect(addFinalizerPatch(withFinalizer(), { nodeId: 'node1-id', finalizer: FINALIZER })).toBeUndefined()
  })
})

describe('removeFinalizerPatch', () => {
  it('keeps foreign finalizers in their order', () => {
    const va = withFinalizer({ finalizers: ['b/b', FINALIZER, 'a/a'] })
    expect(removeFinalizerPatch(va, FINALIZER)).toEqual(merge({ metadata: { finalizers: ['b/b', 'a/a'] } }))
  })

  it('removes the list with the last finalizer', () => {
    expect(removeFinalizerPatch(withFinalizer(), FINALIZER)).toEqual(merge({ metadata: { finalizers: null } }))
    expect(removeFinalizerPatch(attachment(), FINALIZER)).toEqual(merge({ metadata: { finalizers: null } }))
  })
})

describe('attachedPatch', () => {
  it.each([
    { name: 'sets attached alone', va: withFinalizer(), context: {}, status: { attached: true } },
    {
      name: 'stores the publish context',
      va: withFinalizer(),
      context: { a: '1' },
      status: { attached: true, attachmentMetadata: { a: '1' } },
    },
    {
      name: 'clears the error of an earlier try',
      va: withFinalizer({ attachError: error('x') }),
      context: {},
      status: { attached: true, attachError: null },
    },
    {
      name: 'replaces an older context, removed keys included',
      va: withFinalizer({ attached: true, metadata: { a: '1', b: '2' } }),
      context: { b: '3' },
      status: { attachmentMetadata: { a: null, b: '3' } },
    },
    {
      name: 'removes an older context for an empty one',
      va: withFinalizer({ attached: true, metadata: { a: '1' } }),
      context: {},
      status: { attachmentMetadata: null },
    },
  ])('$name', ({ va, context, status }) => {
    expect(attachedPatch(va, context)).toEqual(merge({ status }))
  })

  it('names only the object, but is a patch, when nothing changes', () => {
    expect(attachedPatch(withFinalizer({ attached: true }), {})).toEqual(merge({}))
  })

  it('leaves a detach error alone', () => {
    const va = withFinalizer({ detachError: error('x') })
    expect(attachedPatch(va, {})).toEqual(merge({ status: { attached: true } }))
  })
})

describe('detachedPatch', () => {
  it('clears context and detach error, not the attach error', () => {
    const va = withFinalizer({ attached: true, metadata: { a: '1' }, detachError: error('x'), attachError: error('y') })
    expect(detachedPatch(va)).toEqual(
      merge({ status: { attached: false, attachmentMetadata: null, detachError: null } }),
    )
  })
})

describe('triviallyAttachedPatch', () => {
  it('clears what a former handler has left', () => {
    const va = attachment({ metadata: { a: '1' }, attachError: error('y') })
    expect(triviallyAttachedPatch(va)).toEqual(
      merge({ status: { attached: true, attachmentMetadata: null, attachError: null } }),
    )
  })
})

describe('attachErrorPatch', () => {
  const patchOf = (va = withFinalizer(), message = 'boom', code: number | undefined = 13): Patch =>
    attachErrorPatch(va, { message, code }, NOW)

  it('says what, when and with which code', () => {
    expect(patchOf()).toEqual(merge({ status: { attachError: { message: 'boom', time: TIME, errorCode: 13 } } }))
  })

  it('tells only the time when the same error comes again', () => {
    const va = withFinalizer({ attachError: { ...error('boom', 13), time: '2026-01-01T00:00:00Z' } })
    expect(patchOf(va)).toEqual(merge({ status: { attachError: { time: TIME } } }))
  })

  it('removes the code of an earlier error that had one', () => {
    const va = withFinalizer({ attachError: error('older', 13) })
    expect(attachErrorPatch(va, { message: 'boom', code: undefined }, NOW)).toEqual(
      merge({ status: { attachError: { message: 'boom', errorCode: null } } }),
    )
  })

  it.each([
    ['a'.repeat(1024), 'a'.repeat(1024)],
    ['a'.repeat(1025), 'a'.repeat(1024)],
    [`${'a'.repeat(1023)}é`, 'a'.repeat(1023)],
    [`${'a'.repeat(1022)}€`, 'a'.repeat(1022)],
    [`${'a'.repeat(1022)}é`, `${'a'.repeat(1022)}é`],
  ])('is cut at 1024 bytes, never within a character (%#)', (message, stored) => {
    expect(patchOf(withFinalizer(), message)).toMatchObject({ body: { status: { attachError: { message: stored } } } })
  })
})

describe('detachErrorPatch', () => {
  it('never has a code', () => {
    expect(detachErrorPatch(withFinalizer(), { message: 'boom' }, NOW)).toEqual(
      merge({ status: { detachError: { message: 'boom', time: TIME } } }),
    )
  })
})
