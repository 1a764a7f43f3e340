import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { kubeconfigFiles } from './kubeconfig.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'home-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const file = (name: string): string => {
  mkdirSync(join(home, '.kube'), { recursive: true })
  writeFileSync(join(home, '.kube', name), '')
  return join(home, '.kube', name)
}

it('the kubeconfig comes from the flag, else from KUBECONFIG, else from the home folder', () => {
  const usual = file('config')
  const [a, b] = [file('a'), file('b')]
  expect(kubeconfigFiles('/flag', { KUBECONFIG: a }, home)).toEqual(['/flag'])
  expect(kubeconfigFiles(undefined, { KUBECONFIG: `${a}:${b}` }, home)).toEqual([a, b])
  expect(kubeconfigFiles(undefined, {}, home)).toEqual([usual])
})

it('missing files of KUBECONFIG are ignored, but if all are missing, the first file is returned', () => {
  const a = file('a')
  expect(kubeconfigFiles(undefined, { KUBECONFIG: `/no:${a}` }, home)).toEqual([a])
  expect(kubeconfigFiles(undefined, { KUBECONFIG: '/no:/neither' }, home)).toEqual(['/no'])
})

it('without a kubeconfig, a pod uses its service account, and other programs use ~/.kube/config', () => {
  expect(kubeconfigFiles(undefined, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, home)).toEqual([])
  expect(kubeconfigFiles(undefined, {}, home)).toEqual([join(home, '.kube', 'config')])
})
