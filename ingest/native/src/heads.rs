//! What is known of heads: which series their fields belong to, or that no row comes from them.

use hashbrown::HashMap;
use std::sync::Arc;

/// Where a field of a head belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    Column { slot: u16, column: u8 },
    LeftOut,
}

/// The fields of heads that are alike; a *slot* is one of the series that a head has.
pub struct Plan {
    pub fields: HashMap<Box<[u8]>, Place>,
    pub tables: Box<[u8]>,
}

/// A series: its number in this process, its row and its host's.
#[derive(Clone, Copy)]
pub struct Series {
    pub number: u32,
    pub id: i64,
    pub host: i64,
}

/// What lines of a head are.
#[derive(Clone)]
pub enum Head {
    Rows {
        plan: Arc<Plan>,
        series: Arc<[Series]>,
        says: bool,
    },
    /// Refused for a reason that is the same for all of them.
    Refused,
    /// For the strict parser.
    Left,
}

pub type PlanKey = (Box<[u8]>, Vec<(Vec<u8>, Place)>);

#[derive(Default)]
pub struct Book {
    pub heads: HashMap<Box<[u8]>, Head>,
    plans: HashMap<PlanKey, Arc<Plan>>,
}

impl Book {
    /// The plan of these fields, which heads that are alike share.
    pub fn plan(&mut self, tables: Box<[u8]>, mut fields: Vec<(Vec<u8>, Place)>) -> Arc<Plan> {
        fields.sort_by(|one, other| one.0.cmp(&other.0));
        let key = (tables, fields);
        if let Some(known) = self.plans.get(&key) {
            return known.clone();
        }
        let plan = Arc::new(Plan {
            fields: key
                .1
                .iter()
                .map(|(name, place)| (name.as_slice().into(), *place))
                .collect(),
            tables: key.0.clone(),
        });
        self.plans.insert(key, plan.clone());
        plan
    }
}
