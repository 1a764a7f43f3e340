import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { Advisory } from '../patch/advisory.ts'
import { readBundle } from '../tools/bundle.ts'
import type { Assessment } from './assessments.ts'
import { type Feature, featuresIn, loadedFeatures } from './features.ts'
import { openVex, unassessed } from './openvex.ts'

const ADVISORIES: readonly Advisory[] = [
  { id: 'CVE-1', component: 'node', fixes: [] },
  { id: 'CVE-2 GHSA-2', component: 'npm:@grpc/grpc-js', fixes: [] },
]
const ASSESSMENTS: readonly Assessment[] = [
  { advisory: 'CVE-1', needs: 'worker threads', because: 'a worker passes a transferred stream twice.' },
  { advisory: 'CVE-2', action: 'Let no other process write to the socket of the driver.' },
]
const place = {
  home: 'o/n',
  version: 'v1.2.3',
  createdAt: 0,
  images: ['csi-attacher'],
  names: ['csi-attacher', 'kubectl-csi'],
} as const
const assessed = (loaded: readonly Feature[]) => openVex({ assessments: ASSESSMENTS, loaded, ...place })

describe('what is said about weaknesses', () => {
  it('is complete when every advisory has a row, by any of its names', () => {
    expect(unassessed(ADVISORIES, ASSESSMENTS)).toEqual([])
  })

  it('is not complete with an advisory without an assessment', () => {
    const unknown: Advisory = { id: 'CVE-3', component: 'node', fixes: [] }
    expect(unassessed([...ADVISORIES, unknown], ASSESSMENTS)).toEqual([
      'CVE-3 about node has no row in images/vex/assessments.ts',
    ])
  })

  it('names for each whether this release is affected, and why', () => {
    const names = ['oci/csi-attacher?tag=v1.2.3', 'generic/csi-attacher@v1.2.3', 'generic/kubectl-csi@v1.2.3']
    const products = names.map((name) => ({ '@id': `pkg:${name}` }))
    expect(assessed([])).toMatchObject({
      '@context': 'https://openvex.dev/ns/v0.2.0',
      timestamp: '1970-01-01T00:00:00.000Z',
      statements: [
        {
          vulnerability: { name: 'CVE-1' },
          products,
          status: 'not_affected',
          justification: 'vulnerable_code_not_in_execute_path',
          impact_statement:
            'It needs worker threads, which nothing here loads: a worker passes a transferred stream twice.',
        },
        {
          vulnerability: { name: 'CVE-2' },
          products,
          status: 'affected',
          action_statement: 'Let no other process write to the socket of the driver.',
        },
      ],
    })
    expect(openVex({ assessments: [], loaded: [], ...place })).toBeUndefined()
  })

  it('changes when a bundle begins to load what a weakness needs', () => {
    expect(assessed(['worker threads'])?.statements[0]).toMatchObject({
      status: 'affected',
      action_statement: 'It needs worker threads, which this version loads. Update to the next patch release.',
    })
  })
})

describe('what the bundles load of Node.js', () => {
  it('is nothing of the list', () => {
    expect(loadedFeatures()).toEqual([])
  })

  it.each<[string, string, readonly string[], readonly Feature[]]>([
    ['a module', 'require("worker_threads")', [], ['worker threads']],
    ['a module by its full name', 'require("node:wasi")', [], ['WASI']],
    ['a global', 'await fetch(a);this.fetch(b)', [], ['fetch of undici']],
    ['a flag', '', ['--permission'], ['the permission model']],
    ['nothing', 'this.fetch(b)', ['--disable-sigusr1'], []],
  ])('is seen by %s', (_, text, flags, features) => {
    const bundle = readFileSync(readBundle('csi-attacher').file, 'utf8')
    expect(featuresIn(`${bundle}\n;${text}`, flags)).toEqual(features)
  })
})
