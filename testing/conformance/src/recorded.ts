import { readFileSync, writeFileSync } from 'node:fs'
import type { RecordedAnswer } from './case.ts'

const FILE = new URL('recorded.jsonl', import.meta.url)

/** The answers of kube-apiserver v1.36.3 to the cases, one answer a line. */
export function readRecorded(): readonly RecordedAnswer[] {
  const lines = readFileSync(FILE, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RecordedAnswer)
}

/** Replaces the recorded answers. */
export function writeRecorded(answers: readonly RecordedAnswer[]): void {
  writeFileSync(FILE, answers.map((each) => `${JSON.stringify(each)}\n`).join(''))
}
