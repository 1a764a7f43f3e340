import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { claim } from '../testing/builders.ts'
import { unlessAtRest } from './reconcile.ts'

const object = projectClaim(claim())
const queue = { isInWork: () => false }

describe('unlessAtRest', () => {
  const trigger = unlessAtRest(
    () => ['ns/data'],
    ({ request, capacity }) => request === capacity,
  )

  it('at the start and at a resync, `unlessAtRest` returns no key for a claim that needs no change', () => {
    expect(trigger({ type: 'added', object }, queue)).toEqual([])
    expect(trigger({ type: 'updated', before: object, after: object, cause: 'resync' }, queue)).toEqual([])
  })

  it('`unlessAtRest` returns the key of a claim that needs no change after a watch event, because an earlier run may be incomplete', () => {
    expect(trigger({ type: 'updated', before: object, after: object, cause: 'watch' }, queue)).toEqual(['ns/data'])
    expect(trigger({ type: 'deleted', object }, queue)).toEqual(['ns/data'])
  })

  it('at the start and at a resync, `unlessAtRest` returns the key of a claim that needs a change', () => {
    const raised = projectClaim(claim({ request: '2Gi' }))
    expect(trigger({ type: 'added', object: raised }, queue)).toEqual(['ns/data'])
  })
})
