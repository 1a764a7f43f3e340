import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { claim } from '../testing/builders.ts'
import { unlessAtRest } from './triggers.ts'

const object = projectClaim(claim())
const queue = { isInWork: () => false }

describe('unlessAtRest', () => {
  const trigger = unlessAtRest(
    () => ['ns/data'],
    ({ request, capacity }) => request === capacity,
  )

  it('the trigger `unlessAtRest` ignores added and resynced claims that have no pending work', () => {
    expect(trigger({ type: 'added', object }, queue)).toEqual([])
    expect(trigger({ type: 'updated', before: object, after: object, origin: 'resync' }, queue)).toEqual([])
  })

  it('the trigger `unlessAtRest` returns the key of a changed or deleted claim without pending work', () => {
    expect(trigger({ type: 'updated', before: object, after: object, origin: 'change' }, queue)).toEqual(['ns/data'])
    expect(trigger({ type: 'deleted', object }, queue)).toEqual(['ns/data'])
  })

  it('the trigger `unlessAtRest` returns the key of an added claim that has pending work', () => {
    const raised = projectClaim(claim({ request: '2Gi' }))
    expect(trigger({ type: 'added', object: raised }, queue)).toEqual(['ns/data'])
  })
})
