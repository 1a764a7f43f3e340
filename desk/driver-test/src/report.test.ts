import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { SECTIONS } from './checks/checks.ts'
import { junitOf, markdownOf, type TestReport } from './report.ts'
import type { SeedResult } from './seed.ts'

const good: SeedResult = {
  title: 'seed 1',
  seed: 1,
  interrupted: false,
  seconds: 31.26,
  actions: 90,
  calls: 120,
  callsOf: new Map(),
  findings: [],
  clusterFaults: [],
  undeleted: [],
}
const bad: SeedResult = {
  ...good,
  title: 'seed 2',
  seed: 2,
  findings: [
    {
      check: 'noLeak',
      subjectId: 'vol-1',
      text: 'volume <vol-1> & "more" is left',
      occurrences: 3,
      timeline: ['+0.500 s CreateVolume', '+1.000 s CreateVolume \u0007'],
      calls: ['+1.000 s CreateVolume \u0007'],
    },
  ],
  undeleted: ['volume vol-1: refused'],
}
const report = (...results: SeedResult[]): TestReport => ({
  driver: 'csi.example.com',
  address: 'unix:///csi.sock',
  leftOut: ['tapes: none'],
  results,
  again: (seed) => `test --seed='${seed}'`,
})

describe('junitOf', () => {
  it('the JUnit report contains a test suite for each seed and a test case for each check', () => {
    const xml = junitOf(report(good, bad))
    expect(xml.match(/<testsuite /g)).toHaveLength(2)
    expect(xml).toContain('<testsuite name="csi.example.com, seed 1" tests="23" failures="0" time="31.3">')
    expect(xml).toContain('<testsuite name="csi.example.com, seed 2" tests="23" failures="1"')
    expect(xml.match(/<testcase /g)).toHaveLength(46)
    expect(xml).toContain('<system-out>Left out:\ntapes: none</system-out>')
  })

  it('the JUnit report contains each finding with its calls and the command that repeats the seed, escaped for XML', () => {
    const [failure = ''] = /<failure[\s\S]*<\/failure>/.exec(junitOf(report(bad))) ?? []
    expect(failure).toContain('volume &lt;vol-1&gt; &amp; &quot;more&quot; is left (3 times)')
    expect(failure).toContain('+1.000 s CreateVolume \ufffd')
    expect(failure).toContain('CSI specification: DeleteVolume, DeleteSnapshot, NodeUnpublishVolume')
    expect(failure).toContain("test --seed='2'")
  })

  it('the JUnit report contains a test case for the rules of the cluster', () => {
    const xml = junitOf(report({ ...good, clusterFaults: ['volume v was published twice'] }))
    expect(xml).toMatch(/name="The cluster keeps to its own rules"><failure message="volume v was published twice">/)
  })
})

describe('SECTIONS', () => {
  it('each section of the CSI specification about a call has the name of a call in csi.proto', () => {
    const proto = readFileSync(join(import.meta.dirname, '../../../proto/csi/v1/csi.proto'), 'utf8')
    const calls = [...proto.matchAll(/\brpc (\w+)/g)].map(([, name = '']) => name)
    const others = ['Error Scheme', 'Timeouts', 'Volume Lifecycle', 'Supervised Lifecycle Management']
    const unknown = Object.values(SECTIONS)
      .flat()
      .filter((section) => ![...calls, ...others].includes(section))
    expect(unknown).toEqual([])
  })
})

describe('markdownOf', () => {
  it('the Markdown report links each finding to the sections of the CSI specification', () => {
    expect(markdownOf(report(bad))).toContain(
      'CSI specification: [DeleteVolume](https://github.com/container-storage-interface/spec/blob/master/spec.md#deletevolume), [DeleteSnapshot](',
    )
  })

  it('the Markdown report contains one line if all promises were kept', () => {
    const text = markdownOf(report(good))
    expect(text).toContain('All promises were kept.')
    expect(text).toContain('| 1 | 31 | 90 | 120 | 0 |')
    expect(text).not.toContain('## Seed')
    expect(text).toContain('## Left out\n\n- tapes: none\n')
  })

  it('after an interrupted seed, the Markdown report does not state that all promises were kept', () => {
    const text = markdownOf(report(good, { ...good, title: 'seed 3', interrupted: true }))
    expect(text).toContain('Nothing was found until the test was interrupted.')
    expect(text).toContain('| 3, interrupted | 31 |')
    expect(text).not.toContain('All promises')
  })

  it('the Markdown report shows the differences between two runs of a seed', () => {
    const text = markdownOf(report(good, { ...good, comparison: ['1: seed 1, 2: seed 1, with /originals'] }))
    expect(text).toContain('## Side by side\n\n```text\n1: seed 1, 2: seed 1, with /originals\n```\n')
  })

  it('the Markdown report contains the findings of each seed, the command that repeats the seed, and the remaining objects', () => {
    const text = markdownOf(report(good, bad))
    expect(text).toContain('1 of 2 seeds found something.')
    expect(text).toContain(
      '## Seed 2\n\nAgain:\n\n    test --seed=\'2\'\n\n### No volume, snapshot or mount is left after the deletion of everything\n\nvolume <vol-1> & "more" is left (3 times)\n',
    )
    expect(text).toContain('- volume vol-1: refused')
  })

  it('the Markdown report contains the time line of the volume of a finding', () => {
    const text = markdownOf(report(good, bad))
    expect(text).toContain('```text\n+0.500 s CreateVolume\n+1.000 s CreateVolume')
  })
})
