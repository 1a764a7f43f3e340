import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import type { V1JSONSchemaProps, V1ListMeta, V1Pod } from '@kubernetes/client-node'
import type { CSINode, CSINodeDriver, Event, Lease, PersistentVolume, PersistentVolumeClaimCondition } from './index.ts'
import type { Wire } from './wire.ts'

/** Fails to compile unless both types are the same. */
type Same<A, B> = [A, B] extends [B, A] ? true : false
const same = <A, B>(equal: Same<A, B>): void => expect(equal).toBe(true)

it('the type `Wire` turns dates into strings', () => {
  same<NonNullable<PersistentVolume['metadata']>['creationTimestamp'], string | undefined>(true)
  same<NonNullable<Lease['spec']>['renewTime'], string | undefined>(true)
  same<Event['eventTime'], string | null | undefined>(true)
})

it('the type `Wire` leaves maps, lists and int-or-string fields unchanged', () => {
  same<NonNullable<PersistentVolume['spec']>['capacity'], { readonly [key: string]: string } | undefined>(true)
  same<NonNullable<PersistentVolume['spec']>['accessModes'], readonly string[] | undefined>(true)
  const port: NonNullable<NonNullable<NonNullable<Wire<V1Pod>['spec']>['containers']>[number]['livenessProbe']> = {
    httpGet: { port: 'http' },
  }
  expect(port.httpGet?.port).toBe('http')
})

it('the type `Wire` allows null for lists and times that the server always sends', () => {
  same<CSINode['spec']['drivers'], readonly CSINodeDriver[] | null>(true)
  same<CSINodeDriver['topologyKeys'], readonly string[] | null | undefined>(true)
  same<PersistentVolumeClaimCondition['lastProbeTime'], string | null | undefined>(true)
})

it('the type `Wire` drops the underscore in front of reserved words', () => {
  same<Wire<V1ListMeta>['continue'], string | undefined>(true)
  same<Wire<V1JSONSchemaProps>['enum'], readonly unknown[] | undefined>(true)
})

it('the package kube-types loads no other package at run time', async () => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)})
    process.stdout.write(loaded.filter((url) => url.includes('/node_modules/')).join())`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { NODE_OPTIONS: '' },
  })
  expect(stdout).toBe('')
})
