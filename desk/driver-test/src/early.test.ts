import { systemClock } from '@csi-sidecars/base'
import { describe, expect, it } from '@jest/globals'
import { EarlyFindings } from './early.ts'
import { junitOf } from './report.ts'
import { verdictLines } from './verdict.ts'

describe('EarlyFindings', () => {
  it('if the driver exits while the test probes a capability, a finding names this capability', () => {
    const early = new EarlyFindings(systemClock)
    early.probeCallbacks.onTrial('clones')
    for (const how of ['with code 1', 'with code 1', 'by SIGSEGV']) early.onDeath(how)
    const results = early.results()
    expect(verdictLines(results, 'test --again')).toEqual([
      'FAIL before the first seed\n',
      '     The driver ends only when it is asked to: the driver ended with code 1 while clones were tried (3 times)\n       CSI specification: Supervised Lifecycle Management\n',
      '     again: test --again\n',
    ])
    const report = { driver: 'csi.example.com', address: 'unix:///csi.sock', leftOut: [], results, again: () => 'test' }
    expect(junitOf(report)).toContain(
      '<testsuite name="csi.example.com, before the first seed" tests="23" failures="1"',
    )
  })

  it('a driver that remains unavailable while an operation is tried causes a finding before the first seed', () => {
    const early = new EarlyFindings(systemClock)
    early.probeCallbacks.onLost('a clone')
    expect(early.results()[0]?.findings).toMatchObject([
      { check: 'alive', text: 'the driver was lost again and again when a clone was tried' },
    ])
  })

  it('a driver that ends after the test has tried all abilities causes no finding before the first seed', () => {
    const early = new EarlyFindings(systemClock)
    expect(early.results()).toEqual([])
    early.onDeath('with code 1')
    expect(early.any).toBe(false)
  })
})
