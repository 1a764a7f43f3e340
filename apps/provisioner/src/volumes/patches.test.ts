import { describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import { addOurFinalizerPatch, removeOurFinalizerPatch } from './patches.ts'

const SAME_UID = { op: 'test', path: '/metadata/uid', value: 'u' }
const PATH = '/metadata/finalizers'

describe('addOurFinalizerPatch', () => {
  it('the patch adds our finalizer after all others, and only to the same object', () => {
    expect(addOurFinalizerPatch({ uid: 'u', finalizers: ['a/b'] })).toEqual({
      kind: 'json',
      body: [SAME_UID, { op: 'add', path: `${PATH}/-`, value: VOLUME_FINALIZER }],
    })
  })
})

describe('removeOurFinalizerPatch', () => {
  it('the patch removes our finalizer alone, and only from the same object', () => {
    expect(removeOurFinalizerPatch({ uid: 'u', finalizers: ['a/b', VOLUME_FINALIZER] })).toEqual({
      kind: 'json',
      body: [SAME_UID, { op: 'test', path: `${PATH}/1`, value: VOLUME_FINALIZER }, { op: 'remove', path: `${PATH}/1` }],
    })
  })

  it('there is no patch for an object without our finalizer', () => {
    expect(removeOurFinalizerPatch({ uid: 'u', finalizers: ['a/b'] })).toBeUndefined()
  })
})
