import type { Patch } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { attachment, FINALIZER, withFinalizer } from '../testing/views.ts'
import {
  addFinalizerPatch,
  attachErrorPatch,
  attachedPatch,
  confirmedPatch,
  detachErrorPatch,
  detachedPatch,
  removeFinalizerPatch,
  restoreFinalizerPatch,
  triviallyAttachedPatch,
} from './patches.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const TIME = '2026-01-02T03:04:05Z'
/** Returns a merge patch with the UID of the attachment in the fixtures. */
const merge = ({ metadata, ...change }: { metadata?: object; status?: object }): Patch => ({
  kind: 'merge',
  body: { metadata: { uid: 'va1-uid', ...metadata }, ...change },
})
const tested = (operations: readonly object[]): Patch => ({
  kind: 'json',
  body: [{ op: 'test', path: '/metadata/uid', value: 'va1-uid' }, ...operations],
})
const NODE_ID = '/metadata/annotations/csi.alpha.kubernetes.io~1node-id'
const error = (message: string, errorCode?: number): { message: string; time: string; errorCode?: number } => ({
  message,
  time: TIME,
  ...(errorCode !== undefined && { errorCode }),
})

describe('addFinalizerPatch', () => {
  it.each([
    {
      name: 'adds node ID and finalizer to an attachment without annotations and finalizers',
      va: attachment(),
      operations: [
        { op: 'test', path: '/metadata/annotations', value: null },
        { op: 'add', path: '/metadata/annotations', value: { 'csi.alpha.kubernetes.io/node-id': 'n' } },
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: [FINALIZER] },
      ],
    },
    {
      name: 'adds the node ID to foreign annotations, and the finalizer to an empty list',
      va: attachment({ hasAnnotations: true, finalizers: [] }),
      operations: [
        { op: 'add', path: NODE_ID, value: 'n' },
        { op: 'test', path: '/metadata/finalizers', value: [] },
        { op: 'add', path: '/metadata/finalizers', value: [FINALIZER] },
      ],
    },
    {
      name: 'adds only the finalizer, after foreign finalizers, if the node ID is stored',
      va: attachment({ hasAnnotations: true, nodeId: 'n', finalizers: ['b/b', 'a/a'] }),
      operations: [
        { op: 'test', path: '/metadata/finalizers', value: ['b/b', 'a/a'] },
        { op: 'add', path: '/metadata/finalizers/-', value: FINALIZER },
      ],
    },
    {
      name: 'overwrites a wrong node ID',
      va: withFinalizer({ nodeId: 'wrong' }),
      operations: [{ op: 'add', path: NODE_ID, value: 'n' }],
    },
  ])('the finalizer patch of an attach $name', ({ va, operations }) => {
    expect(addFinalizerPatch(va, { nodeId: 'n', finalizer: FINALIZER })).toEqual(tested(operations))
  })

  it('the finalizer patch of an attach is undefined if the attachment has node ID and finalizer', () => {
    expect(addFinalizerPatch(withFinalizer(), { nodeId: 'node1-id', finalizer: FINALIZER })).toBeUndefined()
  })
})

describe('restoreFinalizerPatch', () => {
  it('the patch that restores our finalizer changes nothing else', () => {
    expect(restoreFinalizerPatch(attachment(), FINALIZER)).toEqual(
      tested([
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: [FINALIZER] },
      ]),
    )
    expect(restoreFinalizerPatch(withFinalizer(), FINALIZER)).toBeUndefined()
  })
})

describe('removeFinalizerPatch', () => {
  it('the patch that removes our finalizer names its index, and is undefined without our finalizer', () => {
    const va = withFinalizer({ finalizers: ['b/b', FINALIZER, 'a/a'] })
    expect(removeFinalizerPatch(va, FINALIZER)).toEqual(
      tested([
        { op: 'test', path: '/metadata/finalizers/1', value: FINALIZER },
        { op: 'remove', path: '/metadata/finalizers/1' },
      ]),
    )
    expect(removeFinalizerPatch(attachment(), FINALIZER)).toBeUndefined()
  })
})

describe('confirmedPatch', () => {
  it('the patch of a confirmed attach clears only the attach error', () => {
    const va = withFinalizer({ attached: true, attachError: error('x'), detachError: error('y') })
    expect(confirmedPatch(va)).toEqual(merge({ status: { attachError: null } }))
    expect(confirmedPatch(withFinalizer({ attached: true }))).toBeUndefined()
  })
})

describe('attachedPatch', () => {
  it.each([
    { name: 'sets only `attached`', va: withFinalizer(), context: {}, status: { attached: true } },
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
      name: 'replaces an older publish context, including removed keys',
      va: withFinalizer({ attached: true, metadata: { a: '1', b: '2' } }),
      context: { b: '3' },
      status: { attachmentMetadata: { a: null, b: '3' } },
    },
    {
      name: 'removes an older publish context if the new context is empty',
      va: withFinalizer({ attached: true, metadata: { a: '1' } }),
      context: {},
      status: { attachmentMetadata: null },
    },
  ])('the status patch of an attach $name', ({ va, context, status }) => {
    expect(attachedPatch(va, context)).toEqual(merge({ status }))
  })

  it('the status patch of an attach keeps the key `__proto__` of a publish context', () => {
    const patch = attachedPatch(withFinalizer(), JSON.parse('{"__proto__":"a","constructor":"b"}'))
    expect(JSON.stringify(patch)).toContain('"attachmentMetadata":{"__proto__":"a","constructor":"b"}')
  })

  it('the status patch of an attach is undefined if the status would not change', () => {
    const va = withFinalizer({ attached: true, metadata: { a: '1' } })
    expect(attachedPatch(va, { a: '1' })).toBeUndefined()
  })

  it('the status patch of an attach keeps a detach error', () => {
    const va = withFinalizer({ detachError: error('x') })
    expect(attachedPatch(va, {})).toEqual(merge({ status: { attached: true } }))
  })
})

describe('detachedPatch', () => {
  it('the status patch of a detach clears publish context and detach error, and keeps the attach error', () => {
    const va = withFinalizer({ attached: true, metadata: { a: '1' }, detachError: error('x'), attachError: error('y') })
    expect(detachedPatch(va)).toEqual(
      merge({ status: { attached: false, attachmentMetadata: null, detachError: null } }),
    )
  })
})

describe('triviallyAttachedPatch', () => {
  it('the status patch without a CSI call clears the metadata and the error of an earlier attacher', () => {
    const va = attachment({ metadata: { a: '1' }, attachError: error('y') })
    expect(triviallyAttachedPatch(va)).toEqual(
      merge({ status: { attached: true, attachmentMetadata: null, attachError: null } }),
    )
  })
})

describe('attachErrorPatch', () => {
  const patchOf = (va = withFinalizer(), message = 'boom', code: number | undefined = 13): Patch | undefined =>
    attachErrorPatch(va, { message, code }, NOW)

  it('the patch of an attach error stores message, time and code', () => {
    expect(patchOf()).toEqual(merge({ status: { attachError: { message: 'boom', time: TIME, errorCode: 13 } } }))
  })

  it('the patch of a repeated attach error changes only the time', () => {
    const va = withFinalizer({ attachError: { ...error('boom', 13), time: '2026-01-01T00:00:00Z' } })
    expect(patchOf(va)).toEqual(merge({ status: { attachError: { time: TIME } } }))
  })

  it('the patch of an attach error is undefined if the same error was stored within a second', () => {
    expect(patchOf(withFinalizer({ attachError: error('boom', 13) }))).toBeUndefined()
  })

  it('the patch of an attach error removes the code of an earlier error', () => {
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
  ])('the message of an attach error is cut at 1024 bytes, between characters: case %#', (message, stored) => {
    expect(patchOf(withFinalizer(), message)).toMatchObject({
      body: { status: { attachError: { message: stored } } },
    })
  })
})

describe('detachErrorPatch', () => {
  it('the patch of a detach error stores no error code', () => {
    expect(detachErrorPatch(withFinalizer(), { message: 'boom' }, NOW)).toEqual(
      merge({ status: { detachError: { message: 'boom', time: TIME } } }),
    )
  })
})
