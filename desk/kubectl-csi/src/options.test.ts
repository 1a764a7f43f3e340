import { describe, expect, it } from '@jest/globals'
import { parseOptions } from './options.ts'
import { ageText, durationMs } from './output/age.ts'

const parse = (line: string) => parseOptions(line.split(' '), () => undefined)
const explained = (kind: string, name: string, namespace?: string) => ({
  question: { ask: 'explain', kind, name, namespace },
})

describe('command line', () => {
  it.each([
    ['explain pod web', explained('pod', 'web')],
    ['explain po/web -n prod', explained('pod', 'web', 'prod')],
    ['explain PersistentVolumeClaims data --namespace=prod', explained('pvc', 'data', 'prod')],
    ['explain pv pv-1 -o json', { ...explained('pv', 'pv-1'), json: true }],
    ['explain pvc data -nprod -ojson', { ...explained('pvc', 'data', 'prod'), json: true }],
    ['explain pvc data -n=prod -o=json', { ...explained('pvc', 'data', 'prod'), json: true }],
    ['explain va csi-1 --kubeconfig=/k --context prod', { kubeconfig: '/k', context: 'prod', json: false }],
    ['explain pod web -n a --context=a -n b --context b', { ...explained('pod', 'web', 'b'), context: 'b' }],
    ['explain no node-1', explained('node', 'node-1')],
    ['explain node 007', explained('node', '007')],
    ['stuck --stuck-after=1m30s', { question: { ask: 'stuck' }, stuckAfterMs: 90_000 }],
    ['stuck', { question: { ask: 'stuck' }, stuckAfterMs: 120_000, json: false }],
    [
      'plan deployment/web -n prod',
      { question: { ask: 'plan', workload: { kind: 'Deployment', name: 'web', namespace: 'prod' } } },
    ],
    ['plan ds node', { question: { ask: 'plan', workload: { kind: 'DaemonSet', name: 'node' }, filename: undefined } }],
    ['plan StatefulSets.apps/db -ojson', { question: { workload: { kind: 'StatefulSet', name: 'db' } }, json: true }],
    ['plan -fpod.yaml --driver=a.b', { question: { workload: undefined, filename: 'pod.yaml', driver: 'a.b' } }],
    [
      'plan -f - deploy/web --registry=example.com/a/',
      { question: { workload: { kind: 'Deployment' }, filename: '-', images: { registry: 'example.com/a' } } },
    ],
    ['stuck --older-than=1h', { question: { ask: 'stuck' }, stuckAfterMs: 3_600_000 }],
  ])('the command line parser accepts: %s', async (line, expected) => {
    expect(await parse(line)).toMatchObject(expected)
  })

  it.each([
    ['explain deployment web', 'explain deployment: known are pod, pvc, pv, va, node'],
    ['explain pod', 'explain pod: which one? Give its name'],
    ['explain pod/', 'explain pod: which one? Give its name'],
    ['explain pod web other', 'Unknown argument: other'],
    ['stuck --all', 'Unknown argument: all'],
    ['plan', 'plan: of which object? Give deployment/NAME, or -f and a manifest'],
    ['plan pod/web', 'plan pod: known are deployment, statefulset, daemonset'],
    ['plan deployment', 'plan deployment: which one? Give its name'],
    ['delete', 'Unknown argument: delete'],
    ['stuck -o yaml', 'Invalid values'],
    ['stuck --stuck-after=soon', '--older-than soon: a duration is as 30s or 5m'],
  ])('the command line parser refuses: %s', async (line, why) => {
    await expect(parse(line)).rejects.toThrow(why)
  })

  it('the command line parser prints help, version and completion without asking the cluster', async () => {
    let text = ''
    const write = (part: string): void => {
      text += part
    }
    expect(await parseOptions(['--help'], write)).toBe('answered')
    expect(text).toContain('explain pod|pvc|pv|va|node|vs|vsc')
    expect(await parseOptions(['--version'], write)).toBe('answered')
    expect(text).toMatch(/\nkubectl-csi v\d+\.\d+\.\d+\n$/)
    expect(await parseOptions(['completion'], write)).toBe('answered')
    expect(text).toContain('--get-yargs-completions')
    expect(await parseOptions(['--get-yargs-completions', 'kubectl-csi', 'explain', 'pv'], write)).toBe('answered')
    expect(text).toMatch(/\npvc\npv\n$/)
  })
})

it.each([
  [0, '0s'],
  [59_999, '59s'],
  [192_000, '3m12s'],
  [3_600_000, '1h'],
  [3_605_000, '1h'],
  [187_200_000, '2d4h'],
  [-5, '0s'],
])('an age of %d ms is printed as %s', (ms, text) => {
  expect(ageText(ms)).toBe(text)
})

it.each([
  ['30s', 30_000],
  ['0', 0],
  ['1.5h', 5_400_000],
  ['1m30s', 90_000],
  ['250ms', 250],
  ['30', undefined],
  ['', undefined],
  ['s', undefined],
])('the duration %s is read as %s ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})
