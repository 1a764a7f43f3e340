import { expect, it } from '@jest/globals'
import { ALERT_CASES, type AlertCase, type Series } from './alert-series.ts'
import { exampleFile, render } from './helm.ts'
import { type AlertRule, ofKind } from './manifest.ts'
import { ruleFailures } from './promtool.ts'
import { withPromtool } from './with-helm.ts'

/** A minute at which every alert must have fired. It is later than the longest range plus the longest `for`. */
const SETTLED = 46

withPromtool('alert rules', () => {
  const groups = groupsOf()
  const rules = groups.flatMap((group) => group.rules)

  it('each alert rule of the chart has a test case, in the same order', () => {
    const tested = new Set(ALERT_CASES.map(({ alert }) => alert))
    expect([...tested]).toEqual(rules.map(({ alert }) => alert))
  })

  // One run of promtool checks all alerts. Its output names each alert that fails.
  it('each alert fires exactly at the minute of its test case, and never for harmless series', () => {
    const tests = ALERT_CASES.flatMap((one) => [
      alertCheck(one.fires, one.after, { alert: one.alert, expected: [fired(one)] }),
      alertCheck(one.fires, one.after - 1, { alert: one.alert }),
      alertCheck(one.quiet, SETTLED, { alert: one.alert }),
    ])
    expect(ruleFailures(groups, tests)).toBe('')
  })

  it('no alert fires for the pods of another release of the chart', () => {
    const ofPods = ALERT_CASES.filter(({ alert }) => alert !== 'CSISidecarIsNotThere')
    const tests = ofPods.map(({ alert, fires }) => alertCheck(ofAnother(fires), SETTLED, { alert }))
    expect(ruleFailures(groups, tests)).toBe('')
  })

  function fired({ alert, labels, summary }: AlertCase): object {
    const rule = rules.find((each) => each.alert === alert)
    return {
      exp_labels: { ...labels, ...rule?.labels },
      exp_annotations: { ...rule?.annotations, summary },
    }
  }
})

function groupsOf(): readonly { readonly rules: readonly AlertRule[] }[] {
  const [rule] = ofKind(render({ files: [exampleFile('monitored')] }), 'PrometheusRule')
  return rule?.spec?.groups ?? []
}

/** Returns the same series with the pod names of another release. */
function ofAnother(all: readonly Series[]): readonly Series[] {
  return all.map(({ series, values }) => ({
    series: series.replaceAll('pod="demo-csi-sidecars-', 'pod="other-csi-sidecars-'),
    values,
  }))
}

/** Returns a promtool test that checks the alert at this minute after the first samples. */
function alertCheck(
  series: readonly Series[],
  minutes: number,
  { alert, expected = [] }: { alert: string; expected?: readonly object[] },
): object {
  return {
    interval: '1m',
    input_series: series,
    alert_rule_test: [{ eval_time: `${minutes}m`, alertname: alert, exp_alerts: expected }],
  }
}
