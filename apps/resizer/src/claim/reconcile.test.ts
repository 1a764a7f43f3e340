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

  it('`unlessAtRest` ignores a claim without pending work at the start and at a resync', () => {
    expect(trigger({ type: 'added', object }, queue)).toEqual([])
    expect(trigger({ type: 'updated', before: object, after: object, cause: 'resync' }, queue)).toEqual([])
  })

  it('`unlessAtRest` returns the key of a claim without pending work after a watch event', () => {
    expect(trigger({ type: 'updated', before: object, after: object, cause: 'watch' }, queue)).toEqual(['ns/data'])
    expect(trigger({ type: 'deleted', object }, queue)).toEqual(['ns/data'])
  })

  it('`unlessAtRest` returns the key of a claim with pending work at the start and at a resync', () => {
    const raised = projectClaim(claim({ request: '2Gi' }))
    expect(trigger({ type: 'added', object: raised }, queue)).toEqual(['ns/data'])
  })
})
