import type { CaseStep } from './case.ts'

type Rest = Partial<CaseStep>

export function get(path: string, rest: Rest = {}): CaseStep {
  return { ask: `GET ${path}`, ...rest }
}

export function post(path: string, body: unknown, rest: Rest = {}): CaseStep {
  return { ask: `POST ${path}`, body, ...rest }
}

export function put(path: string, body: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PUT ${path}`, body, ...rest }
}

export function remove(path: string, rest: Rest = {}): CaseStep {
  return { ask: `DELETE ${path}`, ...rest }
}

/** PATCH, in each of three forms. */
export function merge(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, merge: patch, ...rest }
}

export function strategic(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, strategic: patch, ...rest }
}

export function jsonPatch(path: string, patch: unknown, rest: Rest = {}): CaseStep {
  return { ask: `PATCH ${path}`, json: patch, ...rest }
}
