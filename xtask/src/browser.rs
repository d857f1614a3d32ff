//! A browser that a check asks questions: Chromium without a window, by the DevTools protocol over
//! its standard streams.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The script that gives Chromium our pipes as file descriptors 3 and 4, where it expects messages.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>/dev/null";

/// A browser with one page.
#[derive(Debug)]
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    /// The messages of pages on the console, and their uncaught errors.
    complaints: Vec<String>,
    /// The events of the trace that has been taken.
    trace: Vec<Value>,
    /// Whether all of them have come.
    is_traced: bool,
}

/// The categories of trace events that contain [`DRAWN`].
const FRAMES: [&str; 2] = [
    "devtools.timeline.frame",
    "disabled-by-default-devtools.timeline.frame",
];

/// The browser has drawn a frame.
const DRAWN: &str = "DrawFrame";

impl Browser {
    /// Starts the browser with a page of this width and height in pixels.
    ///
    /// # Errors
    ///
    /// It does not start or does not answer.
    pub(crate) fn start(program: &str, (width, height): (u32, u32)) -> Result<Self> {
        let mut process = Command::new("sh")
            .args(["-c", PIPES, program])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {program}"))?;
        let to = process.stdin.take().context("a piped input")?;
        let from = process.stdout.take().context("a piped output")?;
        let mut browser = Self {
            process,
            to,
            from: BufReader::new(from),
            last: 0,
            session: None,
            complaints: Vec::new(),
            trace: Vec::new(),
            is_traced: false,
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attached)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser.call("Runtime.enable", json!({}))?;
        browser.call("Page.enable", json!({}))?;
        // A window has a smallest width, which a phone does not reach.
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", metrics)?;
        Ok(browser)
    }

    /// Goes to a page. It may not have loaded when this returns.
    ///
    /// # Errors
    ///
    /// The browser does not answer.
    pub(crate) fn open(&mut self, url: &str) -> Result<()> {
        self.call("Page.navigate", json!({"url": url})).map(drop)
    }

    /// Returns the value of an expression in the page, once its promise is kept.
    ///
    /// # Errors
    ///
    /// The expression fails, or the browser does not answer.
    pub(crate) fn value(&mut self, expression: &str) -> Result<Value> {
        let asked = json!({
            "expression": expression,
            "awaitPromise": true,
            "returnByValue": true,
        });
        let answer = self.call("Runtime.evaluate", asked)?;
        if let Some(wrong) = answer.get("exceptionDetails") {
            bail!("the page failed to compute {expression}: {wrong}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Returns the value of an expression, and the times in seconds at which the browser has drawn
    /// a frame until its promise was kept, as its own trace has them.
    ///
    /// # Errors
    ///
    /// The expression fails, or the browser does not answer.
    pub(crate) fn value_and_frames(&mut self, expression: &str) -> Result<(Value, Vec<f64>)> {
        let traced = json!({
            "transferMode": "ReportEvents",
            "traceConfig": {"includedCategories": FRAMES},
        });
        (self.is_traced, self.trace) = (false, Vec::new());
        self.call("Tracing.start", traced)?;
        let value = self.value(expression);
        self.call("Tracing.end", json!({}))?;
        while !self.is_traced {
            let event = self.message("Tracing.end")?;
            self.note(&event);
        }
        let drawn = self.trace.iter().filter(|event| event["name"] == DRAWN);
        let microseconds = drawn.filter_map(|event| event["ts"].as_f64());
        Ok((value?, microseconds.map(|time| time / 1e6).collect()))
    }

    /// Returns the complaints of pages so far.
    pub(crate) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").context("the browser takes no messages")?;
        self.to.flush()?;
        loop {
            let answer = self.message(method)?;
            if answer["id"] == self.last {
                if let Some(error) = answer.get("error") {
                    bail!("the browser refused {method}: {error}");
                }
                return Ok(answer["result"].clone());
            }
            self.note(&answer);
        }
    }

    /// Waits for the next message.
    fn message(&mut self, method: &str) -> Result<Value> {
        let mut bytes = Vec::new();
        let read = self.from.read_until(0, &mut bytes)?;
        anyhow::ensure!(read > 0, "the browser ended during {method}");
        bytes.pop();
        serde_json::from_slice(&bytes)
            .with_context(|| format!("a message during {method} that is no JSON"))
    }

    /// Takes an event.
    fn note(&mut self, event: &Value) {
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => {
                self.complaints.push(event["params"].to_string());
            }
            "Tracing.dataCollected" => {
                let events = event["params"]["value"].as_array();
                self.trace.extend(events.into_iter().flatten().cloned());
            }
            "Tracing.tracingComplete" => self.is_traced = true,
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _it_may_have_ended = self.process.kill();
        let _it_is_gone = self.process.wait();
    }
}
