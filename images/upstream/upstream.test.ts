import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ROOT, readJson } from '../tools/bundle.ts'
import { differencesOf, sectionOf } from './differences.ts'
import { csiVersionIn, type Facts, factsOf, permissionsIn } from './facts.ts'
import { PROJECTS } from './projects.ts'

const CLAIMED = readJson<Record<string, Facts>>(join(ROOT, 'images/upstream/claimed.json'))
const withGo = spawnSync('go', ['version']).status === 0 ? describe : describe.skip

const MAIN = `package main
import ("flag"; "time")
var wait = flag.Duration("wait", 10*time.Second, "How long.")
var gates = map[Feature]Spec{Fast: {Default: true, PreRelease: featuregate.Beta}}
const operationMetricName = "operations_seconds"
func main() {
	flag.StringVar(&name, "name", "x", "Whose.")
	flag.Var(&list, "list", "Which.")
	flag.BoolFunc("now", "At once.", nil)
	logger.V(2).Info("Started", "name", name)
	recorder.Eventf(pod, kind, "Failed", "why: %s", err)
}
`

withGo('the sources of a sidecar', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'upstream-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  it('have flags, gates, metrics, messages, permissions and a version of CSI', () => {
    write('cmd/main.go', MAIN)
    write('cmd/main_test.go', MAIN.replace('"wait"', '"only-in-a-test"'))
    write('cmd/vendor/other/main.go', MAIN.replace('"wait"', '"of-a-library"'))
    write('rbac.yaml', 'kind: Role\nrules:\n- {apiGroups: [""], resources: [pods], verbs: [get]}\n')
    write('go.mod', 'require github.com/container-storage-interface/spec v1.2.3\n')
    const project = { name: 'a', module: 'a', folders: ['cmd', 'absent'], rbac: 'rbac.yaml', newest: 'latest' }
    expect(factsOf(project, { version: 'v1', folder })).toEqual({
      version: 'v1',
      facts: {
        flags: { wait: 'Duration 10 * time.Second', name: 'String "x"', list: 'Var', now: 'BoolFunc' },
        gates: { Fast: 'Default: true, PreRelease: featuregate.Beta' },
        metrics: { operations_seconds: '' },
        messages: { Started: '', Failed: '' },
        permissions: { pods: 'get' },
        csi: { spec: 'v1.2.3' },
      },
    })
  })

  it('of the API have the fields of the types that are named', () => {
    const field = 'Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`'
    write(
      'v1/types.go',
      `package v1\ntype Read struct {\n\t${field}\n\tother int\n}\ntype Unread struct {\n\t${field}\n}\n`,
    )
    const project = { name: 'a', module: 'a', folders: ['v1'], types: ['Read'], newest: 'latest' }
    const { facts } = factsOf(project, { version: 'v1', folder })
    expect(facts).toEqual({ fields: { 'Read.name': 'string 2' } })
  })
})

describe('permissions', () => {
  it('are those of all roles, by resource', () => {
    const manifest = `
kind: ClusterRole
rules:
- {apiGroups: [storage.k8s.io], resources: [csinodes, volumeattachments], verbs: [watch, get]}
- {apiGroups: [storage.k8s.io], resources: [csinodes], verbs: [list]}
---
kind: ServiceAccount
---
`
    expect(permissionsIn(manifest)).toEqual({
      'csinodes.storage.k8s.io': 'get list watch',
      'volumeattachments.storage.k8s.io': 'get watch',
    })
  })
})

it('reads no version of CSI where none is required', () => {
  expect(csiVersionIn('module a\n')).toEqual({})
})

describe('a report', () => {
  const before: Facts = { version: 'v1', facts: { flags: { a: 'Bool true', b: 'Int 1' }, metrics: { m: '' } } }

  it('names what is new, gone and changed', () => {
    const after: Facts = { version: 'v2', facts: { flags: { a: 'Bool false', c: 'Var' }, metrics: { m: '' } } }
    expect(differencesOf(before, after)).toEqual(
      new Map([['flags', ['changed: `a` (`Bool true`), now `Bool false`', 'gone: `b` (`Int 1`)', 'new: `c` (`Var`)']]]),
    )
    expect(sectionOf('p', before, after)).toMatch(/^## p: v1 to v2\n\n### flags\n\n- changed: /)
  })

  it('is none where nothing has changed but the version', () => {
    expect(sectionOf('p', before, { ...before, version: 'v2' })).toBeUndefined()
  })
})

describe('what this project takes the place of', () => {
  it('is known for each project', () => {
    expect(Object.keys(CLAIMED).sort()).toEqual(PROJECTS.map(({ name }) => name).sort())
  })

  it.each([
    ['external-attacher', 'attacher'],
    ['external-resizer', 'resizer'],
  ])('is the version of %s that the program names', (name, app) => {
    const source = readFileSync(join(ROOT, `apps/${app}/src/app.ts`), 'utf8')
    expect(source).toContain(`replaces: '${name} ${CLAIMED[name]?.version}'`)
  })
})
