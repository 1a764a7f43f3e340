import { describe, expect, it } from '@jest/globals'
import type { Finding } from './checks/checker.ts'
import type { SeedResult } from './seed.ts'
import { comparisonOf, remainingText, verdictOf } from './verdict.ts'

const NONE = { calls: [], timeline: [] }
const gone: Finding = { ...NONE, check: 'kept', subjectId: 'v', text: 'volume vol-1 is gone', occurrences: 2 }
const leak: Finding = { ...NONE, check: 'noLeak', subjectId: 'v', text: 'volume vol-2 is left', occurrences: 1 }

function seed(number: number, ...findings: readonly Finding[]): SeedResult {
  const rest = {
    seconds: 1,
    actions: 9,
    calls: 20,
    callsOf: new Map([['CreateVolume', 20]]),
    clusterFaults: [],
    undeleted: [],
    interrupted: false,
  }
  return { ...rest, title: `seed ${number}`, seed: number, findings }
}

describe('verdictOf', () => {
  it('the verdict of a seed lists each finding with its count, and refers to an earlier seed with the same finding', () => {
    const withCalls = { ...gone, calls: ['+1.000 s ListVolumes'] }
    const first = verdictOf(seed(1, withCalls), [])
    const text = 'volume vol-1 is gone (2 times)'
    const rule = 'Volumes, snapshots and attachments exist until their deletion is requested'
    expect(first).toMatchObject({ summary: '9 actions, 20 calls', findings: [{ rule, text }] })
    expect(first.details?.({ rule, text })).toEqual([
      '+1.000 s ListVolumes',
      'CSI specification: ListVolumes, ListSnapshots',
    ])
    const second = verdictOf(seed(2, withCalls), [seed(1, { ...gone, text: 'volume vol-9 is gone' })])
    expect(second.details?.({ rule, text })).toEqual(['as in seed 1'])
  })

  it('the verdict of a seed states that all promises were kept, or that the seed was interrupted', () => {
    expect(verdictOf(seed(1), []).summary).toBe('9 actions, 20 calls, all promises kept')
    expect(verdictOf({ ...seed(1), interrupted: true }, []).summary).toBe('9 actions, 20 calls, interrupted')
  })
})

describe('remainingText', () => {
  it('the estimated time of the remaining seeds appears after a seed with findings', () => {
    expect(remainingText({ ...seed(1, gone), seconds: 60.2 }, 2)).toBe(
      '2 more seeds: up to 122 s, if each takes 61 s as seed 1 did. --patience shortens them.',
    )
    expect(remainingText({ ...seed(2, gone), seconds: 20 }, 1)).toMatch(/^One more seed: up to 20 s/)
  })

  it('the estimated time of the remaining seeds does not appear without findings, after the last seed, or after an interruption', () => {
    expect(remainingText(seed(1), 2)).toBeUndefined()
    expect(remainingText(seed(3, gone), 0)).toBeUndefined()
    expect(remainingText({ ...seed(1, gone), interrupted: true }, 2)).toBeUndefined()
  })
})

describe('comparisonOf', () => {
  it('the comparison of two runs shows the findings that only one run has, and the number of calls in each run', () => {
    const rule = 'NodeStageVolume of vol-3 was called while it is not attached to n1'
    const callsOf = new Map([['DeleteVolume', 7]])
    const other = { ...seed(1, leak), title: 'seed 1, with /originals', clusterFaults: [rule], callsOf }
    expect(comparisonOf(seed(1, gone, leak), other)).toEqual([
      '1: seed 1, 2: seed 1, with /originals',
      '1  2  found by one of them',
      'x     Volumes, snapshots and attachments exist until their deletion is requested: volume vol-1 is gone (2 times)',
      `   x  The cluster keeps to its own rules: ${rule}`,
      '1   2  calls',
      '20  0  CreateVolume',
      '0   7  DeleteVolume',
    ])
  })

  it('the comparison of two runs states that the findings are equal', () => {
    expect(comparisonOf(seed(1, gone), seed(1, { ...gone, text: 'volume vol-8 is gone' }))).toEqual([
      '1: seed 1, 2: seed 1',
      'Both runs have the same findings.',
      '1   2   calls',
      '20  20  CreateVolume',
    ])
  })
})
