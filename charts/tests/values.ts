import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@csi-sidecars/kube-types'
import { Ajv, type ValidateFunction } from 'ajv'
import { load } from 'js-yaml'
import { CHART } from './helm.ts'

export type Values = Readonly<Record<string, unknown>>

export function readValues(file: string): Values {
  return load(readFileSync(file, 'utf8')) as Values
}

/** Values that enable the sidecars that are off by default. */
export const ALL_SIDECARS: Values = { provisioner: { enabled: true }, snapshotter: { enabled: true } }

export const VALUES_FILE = join(CHART, 'values.yaml')

export function schema(): Values {
  return JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Values
}

export function validator(of: Values = schema()): ValidateFunction {
  return new Ajv({
    allErrors: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  }).compile(of)
}

/** Merges values as Helm merges two values files. */
export function merged(base: Values, over: Values): Values {
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = result[key]
    result[key] = isJsonObject(below) && isJsonObject(value) ? merged(below, value) : value
  }
  return result
}

/** Returns nested maps for a path: `{a: {b: value}}` for `a.b`. */
export function at(path: string, value: unknown): Values {
  return path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Values
}

export function get(values: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), values)
}

/** A value of `controller.affinity` that keeps the pods of the controller on different nodes. */
export const ON_OWN_NODES = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      {
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'demo' } },
      },
    ],
  },
}
